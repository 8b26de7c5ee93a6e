// The boxes of the graph and their places: groups that are open hold their parts, each in layers from what it reads downward.
const GAP = { x: 14, y: 24, inside: 10, head: 22, lane: 8 };
const MOST = 60; // ops of a line that are shown at once
const children = data.groups.map(() => ({ groups: [], ops: [] }));
const roots = { groups: [], ops: [] };
const opsIn = data.groups.map(() => []);
const bodyOf = new Map(tape.bodies); // the groups of the bodies of loops; such a group is shown in place of its loop's op
const loopOf = new Map(tape.bodies.map(([op, group]) => [group, op]));
data.groups.forEach(([parent], k) => (parent < 0 ? roots : children[parent]).groups.push(k));
tape.group.forEach((group, op) => {
  children[group].ops.push(op);
  for (let k = group; k >= 0; k = data.groups[k][0]) opsIn[k].push(op);
});

function shownOps(group) {
  const ops = children[group].ops.filter((op) => shownAs[op] === op && !bodyOf.has(op));
  if (ops.length <= MOST) return ops;
  const near = Math.max(0, ops.findIndex((op) => op >= Math.max(chosen.op, 0)));
  const start = Math.min(Math.max(0, near - MOST / 2), ops.length - MOST);
  return ops.slice(start, start + MOST);
}

// The boxes of a graph whose groups in `open` are open, with the edges between them: {root, edges, boxOf(op)}.
function layout(open) {
  const visible = new Map();
  const root = container(null, null, roots.groups, roots.ops);

  function container(parent, group, groups, ops) {
    const made = { parent, group, op: -1, parts: [], isOpen: true, first: group === null ? 0 : firstIn(group), nets: new Map() };
    if (group !== null) [loopOf.get(group), ...opsIn[group]].forEach((op) => visible.set(op, made));
    groups.filter((k) => opsIn[k].length).forEach((k) => made.parts.push(open.has(k) ? container(made, k, children[k].groups, shownOps(k)) : leaf(made, k, -1)));
    ops.forEach((op) => made.parts.push(leaf(made, null, op)));
    return made;
  }

  function leaf(parent, group, op) {
    const made = { parent, group, op, parts: [], isOpen: false, first: op >= 0 ? op : firstIn(group) };
    made.words = op >= 0 ? opWords(op) : groupWords(group);
    made.w = 14 + 6.7 * (Math.max(...made.words.map((text) => text.length)) + (op >= 0 ? 0 : 2));
    made.h = 8 + 14 * made.words.length;
    (op >= 0 ? [op] : [loopOf.get(group), ...opsIn[group]]).forEach((k) => visible.set(k, made));
    return made;
  }

  const edges = new Map();
  const boxOf = (op) => visible.get(shownAs[op]);
  const join = (read, op) => {
    const from = boxOf(read), to = boxOf(op);
    if (!from || !to || from === to || within(from, to) || within(to, from)) return;
    if (!edges.has(from)) edges.set(from, new Map());
    edges.get(from).set(to, (edges.get(from).get(to) || 0) + 1);
  };
  tape.reads.forEach((reads, op) => reads.forEach((read) => join(read, op)));
  tape.carried.forEach(([result, input]) => join(result, input));
  edges.forEach((targets, from) => targets.forEach((_, to) => addNets(from, to)));
  place(root);
  settle(root, 0, 0);
  return { root, edges, boxOf };
}

const within = (box, other) => { for (let k = box; k; k = k.parent) if (k === other) return true; return false; };
const chain = (box) => (box ? [...chain(box.parent), box] : []);
const firstIn = (group) => opsIn[group].find((op) => shownAs[op] === op) ?? opsIn[group][0];

function settle(box, x, y) {
  box.X = x + (box.x || 0);
  box.Y = y + (box.y || 0);
  box.parts.forEach((part) => settle(part, box.X, box.Y));
}

// A net leads the value of a box, its `key`, through one container: from the box's part of it, or the container's top, to parts or the bottom.
const TOP = "top", BOTTOM = "bottom";

function netOf(container, key, tail) {
  if (!container.nets.has(key)) container.nets.set(key, { key, tail, heads: new Set() });
  return container.nets.get(key);
}

// The nets that an edge takes, each with the head that it reaches there.
function netsOfEdge(from, to) {
  const a = chain(from), b = chain(to);
  let k = 0;
  while (a[k] === b[k]) k++;
  const taken = a.slice(k, -1).map((box, j) => [box, a[k + j + 1], BOTTOM]).reverse();
  taken.push([a[k - 1], a[k], b[k]]);
  b.slice(k, -1).forEach((box, j) => taken.push([box, TOP, b[k + j + 1]]));
  return taken;
}

function addNets(from, to) {
  netsOfEdge(from, to).forEach(([container, tail, head]) => netOf(container, from, tail).heads.add(head));
}

// The parts in layers, each below what comes before it and leads to it; wide layers in several.
function layersOf(parts, nets) {
  const sorted = [...parts].sort((a, b) => a.first - b.first);
  const before = new Map(sorted.map((part) => [part, new Set()]));
  for (const { tail, heads } of nets) heads.forEach((head) => tail !== TOP && head !== BOTTOM && tail.first < head.first && before.get(head).add(tail));
  const depth = new Map();
  const layers = [];
  for (const part of sorted) {
    depth.set(part, Math.max(-1, ...[...before.get(part)].map((other) => depth.get(other))) + 1);
    (layers[depth.get(part)] ||= []).push(part);
  }
  const wide = (layer) => Array.from({ length: Math.ceil(layer.length / 12) }, (_, k) => layer.slice(12 * k, 12 * k + 12));
  return layers.flatMap(wide);
}

const short = (text, most = 34) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const opWords = (op) => [short(tape.text[op]), ...(tape.type[op] ? [short(tape.type[op])] : [])];

function groupWords(group) {
  const [, label, , line] = data.groups[group];
  const where = line >= 0 ? `${data.lines[line][1]}: ` : "";
  return [short(`${where}${label}`), opsWords(opsIn[group])];
}

// "6 ops × 1000" of ops that are repeated as often; else how many of them are shown.
function opsWords(ops) {
  const shown = ops.filter((op) => shownAs[op] === op);
  const n = (many) => `${many} op${many === 1 ? "" : "s"}`;
  if (shown.length === ops.length || !shown.length) return n(ops.length);
  const times = timesOf[shown[0]];
  return shown.every((op) => timesOf[op] === times) ? `${n(shown.length)} × ${times}` : `${shown.length} of ${n(ops.length)}`;
}
