// The tabs, the keys, and the first picture.
const views = {};
let mark = () => {};
if (count) {
  views.Graph = (pane) => { drawGraph(pane); return markGraph; };
  if (tape.own.some(Boolean)) views.Liveness = drawLiveness;
}
if (data.profile) views.Time = drawTime;
if (data.memory) views.Memory = drawMemory;

function view(name) {
  byId("view").replaceChildren();
  for (const tab of byId("tabs").children) tab.setAttribute("aria-selected", String(tab.textContent === name));
  mark = views[name](byId("view"));
}

function told() {
  byId("found").textContent = !found.text.trim() ? "" : found.ops.length ? `${found.at + 1} of ${found.ops.length}` : "no match";
  markSource();
  markList();
  drawDetail();
  mark();
}

listeners.push(told);
byId("search").addEventListener("input", (event) => search(event.target.value));
byId("search").addEventListener("keydown", (event) => { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); });
byId("before").addEventListener("click", () => step(-1));
byId("after").addEventListener("click", () => step(1));
byId("list").addEventListener("scroll", drawList);
window.addEventListener("resize", () => { drawList(); mark(); });
byId("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  mark();
});
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT") return;
  if (event.key === "/") { event.preventDefault(); byId("search").focus(); }
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && count) { event.preventDefault(); choose(Math.min(count - 1, Math.max(0, chosen.op + by))); }
  if (event.key === "Escape") choose(-1);
});

const names = Object.keys(views);
for (const name of names) byId("tabs").append(element("button", { onclick: () => view(name), "aria-selected": "false" }, name));
document.querySelector("main").classList.toggle("untaped", !count);
document.querySelector(".find").hidden = !count;
document.body.classList.toggle("small", innerHeight < 560);
drawSource();
const first = document.querySelector("tr.told");
if (first) reveal(byId("source"), first.offsetTop, first.offsetHeight);
drawList();
openFew(40);
if (names.length) view(names[0]);
else byId("view").append(element("p", { class: "picture" }, "The tape has no ops."));
document.body.dataset.ready = "yes";
