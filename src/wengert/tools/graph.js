// The graph: groups open and shut by a click or a key, the wheel zooms, a drag moves.
const SVG = "http://www.w3.org/2000/svg";
const opened = new Set();
let drawing = null;
let camera = null;
let current = null; // the box that has the focus, or would get it: {op, group}

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
    const parts = children[group].groups.length + shownOps(group).length;
    if (boxes + parts > most) continue;
    boxes += parts;
    opened.add(group);
    queue.push(...children[group].groups);
  }
}

function drawGraph(pane) {
  const hadFocus = drawing !== null && drawing.image.contains(document.activeElement);
  const seen = drawing ? drawing.seen : -1; // the op that was last brought into sight
  drawing = layout(opened);
  const frames = svg("g", { "aria-hidden": "true" }), edges = svg("g", { "aria-hidden": "true" }), nodes = svg("g", {}), near = svg("path", { class: "near" });
  walk(drawing.root, (box) => { drawBox(box, frames, nodes); drawNets(box, edges); });
  const world = svg("g", {}, frames, edges, near, nodes);
  const image = svg("svg", { class: "graph", role: "tree", "aria-label": "Graph" }, world);
  const button = (text, title, onclick) => element("button", { title, "aria-label": title, onclick }, text);
  const tools = element("div", { class: "tools", role: "group", "aria-label": "Graph tools" },
    button("fit", "Show the whole graph", () => fit(0.05)), button("+", "Zoom in", () => zoom(1.3)), button("−", "Zoom out", () => zoom(1 / 1.3)),
    button("fold", "Close all groups", () => { opened.clear(); redraw(true); }), button("unfold", "Open groups", () => { openFew(150); redraw(true); }));
  pane.replaceChildren(tools, image);
  Object.assign(drawing, { world, image, near, pane, iterations: shownIterations(), seen });
  move(image);
  image.addEventListener("keydown", graphKey);
  if (camera) aim(); else fit(0.6);
  markGraph();
  focusOn(nodeOf(current) || visibleBoxes()[0], hadFocus);
}

function redraw(anew) {
  if (anew) camera = null;
  drawGraph(drawing.pane);
}

const shownIterations = () => folds.map(function words(fold) { return [fold.at, fold.open, fold.inner.map(words)]; }).join();

function drawBox(box, frames, nodes) {
  if (!box.parent) return;
  const kind = box.op >= 0 ? "op" : box.isOpen ? "open" : "shut";
  const side = sideOf(box.first), transform = `translate(${box.X} ${box.Y})`;
  const words = box.isOpen ? [`▾ ${groupWords(box.group).join(" · ")}`] : box.group === null ? box.words : [`▸ ${box.words[0]}`, ...box.words.slice(1)];
  const level = chain(box).length - 1, label = words.join(", ").replace(/^[▾▸] /, "");
  const node = svg("g", { class: `${kind} ${side}`, transform, role: "treeitem", tabindex: -1, "aria-level": level, "aria-label": label, "aria-selected": "false" });
  if (box.group !== null) node.setAttribute("aria-expanded", String(box.isOpen));
  node.append(svg("rect", { width: box.w, height: box.isOpen ? GAP.head - 2 : box.h }));
  words.forEach((text, k) => node.append(svg("text", { x: 7, y: 15 + 14 * k, ...(k ? { class: "quiet" } : {}) }, text)));
  if (box.isOpen) frames.append(svg("g", { class: `frame ${side}`, transform }, svg("rect", { width: box.w, height: box.h })));
  node.firstChild.addEventListener("click", () => { if (!drawing.dragged) act(box); });
  node.addEventListener("focus", () => see(box));
  if (box.op >= 0) node.dataset.op = box.op;
  else node.dataset.group = box.group;
  box.node = node;
  nodes.append(node);
}

function drawNets(box, edges) {
  if (!box.isOpen) return;
  for (const { key, hops } of box.nets.values()) {
    const n = Math.max(...drawing.edges.get(key).values());
    for (const back of [false, true]) {
      const path = hops.filter((hop) => hop.isBack === back).map((hop) => hopPath(box, hop)).join("");
      if (path) edges.append(svg("path", { class: back ? "edge back" : "edge", d: path, "stroke-width": Math.min(2.5, 1 + Math.log10(n) / 2) }));
    }
    const tips = hops.filter((hop) => hop.hasTip).map((hop) => tipPath(box, hop)).join("");
    if (tips) edges.append(svg("path", { class: "tip", d: tips }));
  }
}

// What a click on a box does, or Enter: an op is chosen, a group is opened or shut.
function act(box) {
  current = { op: box.op, group: box.group };
  if (box.op >= 0) return choose(box.op);
  opened.has(box.group) ? opened.delete(box.group) : opened.add(box.group);
  const line = data.groups[box.group][3];
  redraw(false);
  if (line >= 0 && chosen.line !== line) choose(box.first, line);
}

const visibleBoxes = () => { const boxes = []; walk(drawing.root, (box) => box.node && boxes.push(box)); return boxes; };
const nodeOf = (place) => place && visibleBoxes().find((box) => box.op === place.op && box.group === place.group);

// Make a box the one that the Tab key reaches.
function focusOn(box, now) {
  if (!box) return;
  drawing.image.querySelectorAll('[tabindex="0"]').forEach((node) => node.setAttribute("tabindex", -1));
  box.node.setAttribute("tabindex", 0);
  current = { op: box.op, group: box.group };
  if (now) box.node.focus({ preventScroll: true });
}

// The keys of a tree: up and down among the boxes, right into a group, left out of it.
function graphKey(event) {
  const boxes = visibleBoxes(), at = boxes.findIndex((box) => box.node === event.target), box = boxes[at];
  if (!box) return;
  const isGroup = box.group !== null;
  const to = {
    ArrowDown: boxes[at + 1], ArrowUp: boxes[at - 1], Home: boxes[0], End: boxes[boxes.length - 1],
    ArrowRight: box.isOpen ? box.parts[0] : undefined, ArrowLeft: !box.isOpen && box.parent.parent ? box.parent : undefined,
  }[event.key];
  const acts = event.key === "Enter" || event.key === " " || (isGroup && event.key === (box.isOpen ? "ArrowLeft" : "ArrowRight"));
  if (!to && !acts && !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  event.stopPropagation();
  if (to) focusOn(to, true);
  else if (acts) act(box);
}

// Move the picture until a box is in sight.
function see(box) {
  const { clientWidth, clientHeight } = drawing.pane;
  const inside = (from, length, size) => (from < 10 ? 10 - from : from + length > size - 10 ? Math.max(10 - from, size - 10 - from - length) : 0);
  const x = inside(camera.x + camera.k * box.X, camera.k * box.w, clientWidth), y = inside(camera.y + camera.k * box.Y, camera.k * (box.isOpen ? GAP.head : box.h), clientHeight);
  camera = { ...camera, x: camera.x + x, y: camera.y + y };
  aim();
}

function aim() {
  drawing.world.setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.k})`);
}

// Show the whole graph if that makes it no smaller than `least`; else where it begins.
function fit(least) {
  const { clientWidth, clientHeight } = drawing.pane;
  const k = Math.max(least, Math.min(1.2, (clientWidth - 20) / drawing.root.w, (clientHeight - 20) / drawing.root.h));
  const spare = (clientWidth - k * drawing.root.w) / 2;
  camera = { k, x: spare > 0 ? spare : 10 - k * Math.min(...drawing.root.parts.filter((part) => part.layer === 1).map((part) => part.X)), y: 10 };
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
  const isStale = drawing.iterations !== shownIterations() || (chosen.op >= 0 && !drawing.boxOf(chosen.op));
  if (isStale) return redraw(false);
  const matches = new Set(found.ops.map(drawing.boxOf));
  const mine = new Set(chosen.line >= 0 ? opsOfLine[chosen.line].map(drawing.boxOf) : []);
  const box = chosen.op >= 0 ? drawing.boxOf(chosen.op) : undefined;
  visibleBoxes().forEach((other) => {
    const isChosen = other === box && (other.op === chosen.op || loopOf.get(other.group) === chosen.op);
    other.node.setAttribute("aria-selected", String(isChosen));
    other.node.classList.toggle("match", !other.isOpen && matches.has(other));
    other.node.classList.toggle("chosen", isChosen || (!other.isOpen && other.op < 0 && mine.has(other)));
  });
  if (box && chosen.op !== drawing.seen) see(box);
  drawing.seen = chosen.op;
  drawing.near.setAttribute("d", box ? edgesOf(box).map(([from, to]) => hopsOfEdge(from, to).map((taken) => hopPath(...taken)).join("")).join("") : "");
}

// The edges that begin or end at a box.
function edgesOf(box) {
  const found = [];
  drawing.edges.forEach((targets, from) => targets.forEach((_, to) => (from === box || to === box) && found.push([from, to])));
  return found;
}

function walk(box, visit) {
  visit(box);
  box.parts.forEach((part) => walk(part, visit));
}
