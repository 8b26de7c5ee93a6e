// The graph: groups open and shut by a click, the wheel zooms, a drag moves.
const SVG = "http://www.w3.org/2000/svg";
const opened = new Set();
let drawing = null;
let camera = null;

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Open what can be open at the outset: the passes, then what is in them, as long as few boxes are to be seen.
function openFew(most) {
  const queue = [...roots.groups];
  let boxes = queue.length;
  while (queue.length) {
    const group = queue.shift();
    const parts = children[group].groups.length + Math.min(MOST, children[group].ops.length);
    if (boxes + parts > most) continue;
    boxes += parts;
    opened.add(group);
    queue.push(...children[group].groups);
  }
}

function drawGraph(pane) {
  drawing = layout(opened);
  const world = svg("g", {});
  drawBox(world, drawing.root, 0, 0);
  drawing.edges.forEach((targets, from) => targets.forEach((n, to) => world.append(edge(from, to, n))));
  const image = svg("svg", { class: "graph" }, svg("defs", {}, arrow()), world);
  const button = (text, title, onclick) => element("button", { title, onclick }, text);
  const tools = element("div", { class: "tools" },
    button("fit", "Show all of it", () => fit()), button("+", "Nearer", () => zoom(1.3)), button("−", "Further", () => zoom(1 / 1.3)),
    button("fold", "Shut all groups", () => { opened.clear(); redraw(true); }), button("unfold", "Open groups", () => { openFew(150); redraw(true); }));
  pane.replaceChildren(tools, image);
  drawing.world = world;
  drawing.image = image;
  drawing.pane = pane;
  move(image);
  if (camera) aim(); else fit();
  markGraph();
}

function redraw(anew) {
  if (anew) camera = null;
  drawGraph(drawing.pane);
}

function drawBox(world, box, x, y) {
  box.X = x + (box.x || 0);
  box.Y = y + (box.y || 0);
  if (box.parent) {
    const side = box.op >= 0 ? sideOf(box.op) : sideOf(opsIn[box.group][0]);
    const kind = box.op >= 0 ? "op" : box.isOpen ? "open" : "shut";
    const node = svg("g", { class: `${kind} ${side}`, transform: `translate(${box.X} ${box.Y})` });
    node.append(svg("rect", { width: box.w, height: box.h }));
    const words = box.isOpen ? [`▾ ${groupWords(box.group).join(" · ")}`] : box.group === null ? box.words : [`▸ ${box.words[0]}`, ...box.words.slice(1)];
    words.forEach((text, k) => node.append(svg("text", { x: 7, y: 15 + 14 * k, ...(k ? { class: "quiet" } : {}) }, text)));
    node.firstChild.addEventListener("click", () => clicked(box));
    if (box.op >= 0) node.dataset.op = box.op;
    else node.dataset.group = box.group;
    box.node = node;
    world.append(node);
  }
  box.parts.forEach((part) => drawBox(world, part, box.X, box.Y));
}

function clicked(box) {
  if (drawing.dragged) return;
  if (box.op >= 0) return choose(box.op);
  opened.has(box.group) ? opened.delete(box.group) : opened.add(box.group);
  const line = data.groups[box.group][3];
  redraw(false);
  if (line >= 0 && chosen.line !== line) choose(opsIn[box.group][0], line);
}

function edge(from, to, n) {
  const back = from.Y >= to.Y;
  const x1 = from.X + from.w / 2, y1 = from.Y + from.h, x2 = to.X + to.w / 2, y2 = to.Y;
  const bend = Math.max(16, Math.abs(y2 - y1) / 2);
  const side = back ? Math.max(from.X + from.w, to.X + to.w) + 30 - x1 : 0;
  const path = `M${x1} ${y1} C${x1 + side} ${y1 + bend} ${x2 + side} ${y2 - bend} ${x2} ${y2}`;
  const made = svg("path", { class: "edge", d: path, "marker-end": "url(#arrow)", "stroke-width": Math.min(4, 1 + Math.log10(n)) });
  (from.touching ||= []).push(made);
  (to.touching ||= []).push(made);
  return made;
}

const arrow = () => svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto", markerUnits: "userSpaceOnUse" }, svg("path", { d: "M0 0L8 4L0 8z" }));

function aim() {
  drawing.world.setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.k})`);
}

function fit() {
  const { clientWidth, clientHeight } = drawing.pane;
  const k = Math.min(1.2, (clientWidth - 20) / drawing.root.w, (clientHeight - 20) / drawing.root.h);
  const kept = Math.max(k, 0.05);
  camera = { k: kept, x: (clientWidth - kept * drawing.root.w) / 2, y: 10 };
  aim();
}

function zoom(by, x = drawing.pane.clientWidth / 2, y = drawing.pane.clientHeight / 2) {
  const k = Math.min(4, Math.max(0.03, camera.k * by));
  camera = { k, x: x - ((x - camera.x) * k) / camera.k, y: y - ((y - camera.y) * k) / camera.k };
  aim();
}

function move(image) {
  image.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = image.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - at.left, event.clientY - at.top);
  }, { passive: false });
  let start = null;
  image.addEventListener("pointerdown", (event) => { start = { x: event.clientX - camera.x, y: event.clientY - camera.y }; drawing.dragged = false; });
  image.addEventListener("pointermove", (event) => {
    if (!start || !event.buttons) return;
    const x = event.clientX - start.x, y = event.clientY - start.y;
    if (!drawing.dragged && Math.hypot(x - camera.x, y - camera.y) < 4) return;
    drawing.dragged = true;
    camera = { ...camera, x, y };
    aim();
  });
}

function markGraph() {
  if (!drawing || !drawing.pane.isConnected) return;
  if (chosen.op >= 0 && !drawing.boxOf(chosen.op)) return redraw(false);
  const matches = new Set(found.ops.map(drawing.boxOf));
  const mine = new Set(chosen.line >= 0 ? opsOfLine[chosen.line].map(drawing.boxOf) : []);
  drawing.world.querySelectorAll(".near").forEach((path) => path.classList.remove("near"));
  walk(drawing.root, (box) => {
    if (!box.node) return;
    box.node.classList.toggle("match", !box.isOpen && matches.has(box));
    box.node.classList.toggle("chosen", !box.isOpen && (box.op >= 0 ? box.op === chosen.op : mine.has(box)));
  });
  const box = chosen.op >= 0 && drawing.boxOf(chosen.op);
  if (box && box.touching) box.touching.forEach((path) => path.classList.add("near"));
}

function walk(box, visit) {
  visit(box);
  box.parts.forEach((part) => walk(part, visit));
}

// Open all that an op stands in, and go there.
function showInGraph(op) {
  for (let k = tape.group[op]; k >= 0; k = data.groups[k][0]) opened.add(k);
  redraw(false);
  const box = drawing.boxOf(op);
  const { clientWidth, clientHeight } = drawing.pane;
  const k = Math.max(0.8, camera.k);
  camera = { k, x: clientWidth / 2 - k * (box.X + box.w / 2), y: clientHeight / 2 - k * (box.Y + box.h / 2) };
  aim();
}
