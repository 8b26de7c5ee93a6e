// Places and routes. A net runs from layer to layer; where it passes a layer it has a lane of its own there, so that it crosses no box.
function place(box) {
  box.parts.forEach((part) => part.isOpen && place(part));
  const nets = [...box.nets.values()];
  const layers = [[], ...layersOf(box.parts, nets), []]; // the first and the last are of the borders
  layers.forEach((layer, k) => layer.forEach((part) => { part.layer = k; part.up = []; part.down = []; }));
  nets.forEach((net) => addLanes(net, layers));
  order(layers);
  size(box, layers, nets);
  nets.forEach((net) => { net.hops = hopsOf(net, layers, box); });
}

// Give a net its lanes, and tell the parts and lanes that it joins of each other.
function addLanes(net, layers) {
  const last = layers.length - 1;
  net.start = net.tail === TOP ? 0 : net.tail.layer;
  const layerOf = (head) => (head === BOTTOM ? last : head.layer);
  const heads = [...net.heads];
  net.back = heads.filter((head) => layerOf(head) <= net.start);
  net.ahead = heads.filter((head) => layerOf(head) > net.start);
  net.lanes = [];
  const end = Math.max(net.start, ...net.ahead.map(layerOf));
  for (let k = net.start; k <= end; k++) {
    if (k === net.start ? net.tail === TOP : k < end || (k === last && net.heads.has(BOTTOM))) {
      layers[k].push(net.lanes[k] = { isLane: true, w: 0, h: 0, layer: k, up: [], down: [] });
    }
  }
  for (let k = net.start; k < end; k++) {
    const upper = net.lanes[k] || net.tail;
    for (const lower of [net.lanes[k + 1], ...net.ahead.filter((head) => head.layer === k + 1)]) {
      if (lower) join(net, upper, lower);
    }
  }
}

function join(net, upper, lower) {
  const out = upper.exits && upper.exits.get(net.key), entry = lower.entries && lower.entries.get(net.key);
  const made = { net, upper, lower, out: out === undefined ? 0 : out, entry: entry === undefined ? null : entry };
  upper.down.push(made);
  lower.up.push(made);
}

const middle = (numbers, otherwise) => (numbers.length ? numbers.reduce((a, b) => a + b) / numbers.length : otherwise);
const fromAbove = (item) => item.up.map(({ upper, out, entry }) => upper.at + out - (entry || 0));
const fromBelow = (item) => item.down.map(({ lower, out, entry }) => lower.at + (entry || 0) - out);

// Order each layer by what its items are joined to, and put each as near to that as its neighbours allow.
function order(layers) {
  for (const layer of layers) spread(layer, layer.map(() => 0));
  for (const [sorted, upward] of [[true, false], [true, true], [true, false], [false, true], [false, false], [false, null]]) {
    for (const layer of upward ? [...layers].reverse() : layers) {
      const wanted = (item) => middle(upward === null ? [...fromAbove(item), ...fromBelow(item)] : upward ? fromBelow(item) : fromAbove(item), item.at);
      if (sorted) {
        const places = new Map(layer.map((item) => [item, wanted(item)]));
        layer.sort((a, b) => places.get(a) - places.get(b));
      }
      spread(layer, layer.map(wanted));
    }
  }
}

const apart = (a, b) => (a.w + b.w) / 2 + (a.isLane && b.isLane ? GAP.lane : a.isLane || b.isLane ? GAP.lane + 2 : GAP.x);

// Put the items of a layer in their order as near to the wanted places as possible (in the sense of least squares).
function spread(layer, wanted) {
  const blocks = [];
  let offset = 0;
  layer.forEach((item, k) => {
    offset += k ? apart(layer[k - 1], item) : 0;
    const weight = item.isLane ? 3 : 1;
    let block = { sum: weight * (wanted[k] - offset), weight, items: [[item, offset]] };
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight >= block.sum / block.weight) {
      const other = blocks.pop();
      block = { sum: other.sum + block.sum, weight: other.weight + block.weight, items: other.items.concat(block.items) };
    }
    blocks.push(block);
  });
  for (const { sum, weight, items } of blocks) for (const [item, shift] of items) item.at = sum / weight + shift;
}

// The size of a box, the places of its parts, and where nets enter and leave it.
function size(box, layers, nets) {
  const items = layers.flat();
  const left = Math.min(0, ...items.map((item) => item.at - item.w / 2)), right = Math.max(0, ...items.map((item) => item.at + item.w / 2));
  box.returns = nets.filter((net) => net.back.length);
  const title = box.group === null ? 0 : 24 + 6.7 * groupWords(box.group).join(" · ").length;
  const width = Math.max(title, right - left, 40);
  box.w = width + 2 * GAP.inside + GAP.lane * box.returns.length;
  const shift = GAP.inside - left + (width - (right - left)) / 2;
  items.forEach((item) => { item.at += shift; });
  let y = box.group === null ? 0 : GAP.head;
  layers.forEach((layer, k) => {
    const isBorder = k === 0 || k === layers.length - 1;
    if (!isBorder) {
      box.bottom = y + Math.max(...layer.map((item) => item.h));
      layer.forEach((item) => { item.y = y; item.x = item.at - item.w / 2; item.end = box.bottom; });
      y = box.bottom;
    } else layer.forEach((item) => { item.y = item.end = k ? y : box.group === null ? 0 : GAP.head; });
    if (k < layers.length - 1) y += channel(layer, layers[k + 1], box.returns.length);
  });
  box.h = y;
  const ports = (k, name) => new Map(nets.filter((net) => net.lanes[k]).map((net) => [net.key, net.lanes[k][name] - box.w / 2]));
  box.entries = ports(0, "at");
  box.exits = ports(layers.length - 1, "at");
}

// The height between two layers: more where more nets go across.
function channel(upper, lower, returns) {
  const joined = upper.reduce((sum, item) => sum + item.down.filter((join) => Math.abs(join.upper.at + join.out - join.lower.at) > 4).length, 0);
  return joined || returns ? Math.min(60, GAP.y + 2 * joined) + 3 * returns : GAP.inside;
}

// The pieces of a net's path, from layer to layer; `points` lead down, across and down, or back around the parts.
function hopsOf(net, layers, box) {
  const hops = [];
  const exit = (upper) => (upper.isLane ? upper.at : upper.at + ((upper.exits && upper.exits.get(net.key)) || 0));
  const start = (upper) => [exit(upper), upper.isLane ? upper.y : upper.y + upper.h];
  for (let k = net.start; k < layers.length - 1; k++) {
    const upper = net.lanes[k] || (k === net.start && net.tail);
    if (!upper) break;
    for (const { lower } of upper.down.filter((joined) => joined.net === net)) {
      const [x, y] = k === 0 && box.group !== null ? [exit(upper), 0] : start(upper);
      const head = lower.isLane ? (k + 1 === layers.length - 1 ? BOTTOM : null) : lower;
      hops.push({ head, layer: k + 1, isBack: false, hasTip: endsAt(head, net), points: [[x, y], [x, upper.end], [entryOf(lower, net), lower.y]] });
    }
  }
  const side = box.w - GAP.inside / 2 - GAP.lane * box.returns.indexOf(net);
  for (const head of net.back) {
    const [x, y] = start(net.tail), shift = 3 * box.returns.indexOf(net), enter = entryOf(head, net);
    hops.push({ head, layer: head.layer, isBack: true, hasTip: endsAt(head, net), points: [[x, y], [x, net.tail.end + 6 + shift], [side, net.tail.end + 6 + shift], [side, head.y - 8 - shift], [enter, head.y - 8 - shift], [enter, head.y]] });
  }
  return hops;
}

// Whether a net ends at a box, and does not go on inside.
const endsAt = (head, net) => head !== null && head !== BOTTOM && !(head.entries && head.entries.has(net.key));

// Where a net enters a part: at its lane in an open group, else beside the other nets, in the order that they come from.
function entryOf(part, net) {
  if (part.isLane) return part.at;
  if (!endsAt(part, net)) return part.at + part.entries.get(net.key);
  const places = entries(part);
  return part.x + (part.w * (places.indexOf(net.key) + 1)) / (places.length + 1);
}

function entries(part) {
  if (!part.places) {
    const nets = [...part.parent.nets.values()].filter((net) => net.heads.has(part) && endsAt(part, net));
    const from = (net) => (net.back.includes(part) ? Infinity : (net.lanes[part.layer - 1] || net.tail).at);
    part.places = nets.sort((a, b) => from(a) - from(b)).map((net) => net.key);
  }
  return part.places;
}

// The hops of an edge, one container after the other.
function hopsOfEdge(from, to) {
  return netsOfEdge(from, to).flatMap(([container, , head]) => {
    const { hops, start } = container.nets.get(from);
    const last = hops.find((hop) => hop.head === head);
    const trunk = last.isBack ? [] : hops.filter((hop) => hop.head === null && hop.layer > start && hop.layer < last.layer);
    return [...trunk, last].map((hop) => [container, hop]);
  });
}

// The path of a hop in a container, as SVG; a hop to a box ends in a tip of its own.
function hopPath(container, { points, isBack }) {
  const [first, ...rest] = points.map(([x, y]) => [x + container.X, y + container.Y]);
  if (isBack) return `M${first}L${rest.join("L")}`;
  const [[x1, y1], [x2, y2]] = rest, half = (y1 + y2) / 2;
  return `M${first}V${y1}C${x1} ${half} ${x2} ${half} ${x2} ${y2}`;
}

function tipPath(container, { points }) {
  const [x, y] = points[points.length - 1];
  return `M${x + container.X - 3} ${y + container.Y - 6}l3 6l3 -6z`;
}
