// Where the boxes of the graph stand: groups that are open hold their parts, each in layers from what it reads downward.
const GAP = { x: 14, y: 26, inside: 10, head: 18 };
const MOST = 60; // ops of a line that are shown at once
const children = data.groups.map(() => ({ groups: [], ops: [] }));
const roots = { groups: [], ops: [] };
const opsIn = data.groups.map(() => []);
data.groups.forEach(([parent], k) => (parent < 0 ? roots : children[parent]).groups.push(k));
tape.group.forEach((group, op) => {
  children[group].ops.push(op);
  for (let k = group; k >= 0; k = data.groups[k][0]) opsIn[k].push(op);
});

function shownOps(group) {
  const ops = children[group].ops;
  if (ops.length <= MOST) return ops;
  const near = Math.max(0, ops.findIndex((op) => op >= Math.max(chosen.op, 0)));
  const start = Math.min(Math.max(0, near - MOST / 2), ops.length - MOST);
  return ops.slice(start, start + MOST);
}

// The boxes of a graph whose groups in `open` are open, with the edges between them: {root, edges, boxOf(op)}.
function layout(open) {
  const visible = new Map();
  const root = box(null, null, roots.groups.filter((k) => opsIn[k].length), roots.ops);

  function box(parent, group, groups, ops) {
    const made = { parent, group, op: -1, parts: [], first: 0, isOpen: true };
    groups.forEach((k) => made.parts.push(open.has(k) ? box(made, k, children[k].groups, shownOps(k)) : leaf(made, k, -1)));
    ops.forEach((op) => made.parts.push(leaf(made, null, op)));
    made.first = group === null ? 0 : opsIn[group][0];
    if (group !== null) opsIn[group].forEach((op) => visible.has(op) || visible.set(op, made));
    return made;
  }

  function leaf(parent, group, op) {
    const made = { parent, group, op, parts: [], isOpen: false, first: op >= 0 ? op : opsIn[group][0] };
    made.words = op >= 0 ? opWords(op) : groupWords(group);
    made.w = 14 + 6.7 * (Math.max(...made.words.map((text) => text.length)) + (op >= 0 ? 0 : 2));
    made.h = 8 + 14 * made.words.length;
    (op >= 0 ? [op] : opsIn[group]).forEach((k) => visible.set(k, made));
    return made;
  }

  const edges = new Map();
  tape.reads.forEach((reads, op) => {
    const to = visible.get(op);
    for (const read of reads) {
      const from = visible.get(read);
      if (!from || !to || from === to || within(from, to) || within(to, from)) continue;
      if (!edges.has(from)) edges.set(from, new Map());
      edges.get(from).set(to, (edges.get(from).get(to) || 0) + 1);
    }
  });
  place(root, lifted(edges));
  return { root, edges, boxOf: (op) => visible.get(op) };
}

const within = (box, other) => { for (let k = box; k; k = k.parent) if (k === other) return true; return false; };
const chain = (box) => (box ? [...chain(box.parent), box] : []);

// The edges between parts of one box, by that box.
function lifted(edges) {
  const found = new Map();
  edges.forEach((targets, from) => targets.forEach((_, to) => {
    const a = chain(from), b = chain(to);
    let k = 0;
    while (a[k] === b[k]) k++;
    const common = a[k - 1];
    if (!found.has(common)) found.set(common, []);
    found.get(common).push([a[k], b[k]]);
  }));
  return found;
}

function place(box, edges) {
  box.parts.forEach((part) => part.isOpen && place(part, edges));
  const layers = layersOf(box.parts, edges.get(box) || []);
  const widths = layers.map((layer) => layer.reduce((sum, part) => sum + part.w + GAP.x, -GAP.x));
  const title = box.group === null ? 0 : 24 + 6.7 * groupWords(box.group).join(" ").length;
  box.w = Math.max(title, ...widths, 40) + 2 * GAP.inside;
  let y = box.group === null ? 0 : GAP.head + GAP.inside;
  layers.forEach((layer, k) => {
    let x = (box.w - widths[k]) / 2;
    for (const part of layer) {
      part.x = x;
      part.y = y;
      x += part.w + GAP.x;
    }
    y += Math.max(...layer.map((part) => part.h)) + GAP.y;
  });
  box.h = Math.max(y - GAP.y + GAP.inside, GAP.head + GAP.inside);
}

// The parts in layers, each below what comes before it and leads to it; in a layer by where what leads to them stands.
function layersOf(parts, edges) {
  const sorted = [...parts].sort((a, b) => a.first - b.first);
  const before = new Map(sorted.map((part) => [part, new Set()]));
  edges.forEach(([from, to]) => from.first < to.first && before.get(to).add(from));
  const depth = new Map();
  sorted.forEach((part) => depth.set(part, Math.max(-1, ...[...before.get(part)].map((other) => depth.get(other))) + 1));
  const layers = [];
  sorted.forEach((part) => (layers[depth.get(part)] ||= []).push(part));
  const at = new Map();
  return layers.flatMap((layer) => {
    const centre = (part) => {
      const places = [...before.get(part)].map((other) => at.get(other));
      return places.length ? places.reduce((a, b) => a + b) / places.length : 0.5;
    };
    const ordered = layer.map((part) => [centre(part), part]).sort((a, b) => a[0] - b[0] || a[1].first - b[1].first).map(([, part]) => part);
    ordered.forEach((part, k) => at.set(part, (k + 0.5) / ordered.length));
    const pieces = [];
    for (let k = 0; k < ordered.length; k += 12) pieces.push(ordered.slice(k, k + 12));
    return pieces;
  });
}

const short = (text, most = 34) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const opWords = (op) => [short(tape.text[op]), ...(tape.type[op] ? [short(tape.type[op])] : [])];

function groupWords(group) {
  const [, label, , line] = data.groups[group];
  const where = line >= 0 ? `${data.lines[line][1]}: ` : "";
  const ops = opsIn[group].length;
  return [short(`${where}${label}`), `${ops} op${ops === 1 ? "" : "s"}`];
}
