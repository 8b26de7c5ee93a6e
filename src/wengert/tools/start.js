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
  for (const tab of byId("tabs").children) {
    tab.setAttribute("aria-selected", String(tab.textContent === name));
    tab.setAttribute("tabindex", tab.textContent === name ? 0 : -1);
  }
  byId("view").setAttribute("aria-labelledby", `tab-${name}`);
  byId("view").setAttribute("tabindex", name === "Graph" ? -1 : 0); // the boxes of the graph have the focus
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
byId("list").addEventListener("keydown", (event) => {
  if (count && listKey(event.key)) { event.preventDefault(); event.stopPropagation(); }
});
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); byId("search").focus(); }
  if (count && /^Arrow(Up|Down)$/.test(event.key) && listKey(event.key)) event.preventDefault();
  if (event.key === "Escape") choose(-1);
});

const names = Object.keys(views);
const tabs = names.map((name) => element("button", { id: `tab-${name}`, role: "tab", type: "button", "aria-controls": "view", onclick: () => view(name) }, name));
byId("tabs").append(...tabs);
byId("tabs").hidden = !names.length;
byId("tabs").addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const to = (tabs.indexOf(event.target) + by + tabs.length) % tabs.length;
  view(names[to]);
  tabs[to].focus();
});
document.querySelector("main").classList.toggle("untaped", !count);
document.querySelector(".find").hidden = !count;
document.body.classList.toggle("small", innerHeight < 560);
drawSource();
const first = document.querySelector("tr.told");
if (first) reveal(byId("source"), first.offsetTop, first.offsetHeight);
drawList();
drawDetail();
openFew(40);
if (names.length) view(names[0]);
else { byId("view").removeAttribute("role"); byId("view").append(element("p", { class: "picture" }, "The tape has no ops.")); }
document.body.dataset.ready = "yes";
