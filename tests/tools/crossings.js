// What is wrong with a layout of the graph, in words: edges that cross boxes or do not reach them, boxes that overlap.
function faultsOf({ root, edges }) {
  const boxes = [], faults = [];
  (function gather(box) { boxes.push(box); box.parts.forEach(gather); })(root);
  const name = (box) => (box.op >= 0 ? tape.id[box.op] : box.group === null ? "all" : data.groups[box.group][1]);
  const inside = ([x, y], box, by) => x > box.X + by && x < box.X + box.w - by && y > box.Y + by && y < box.Y + box.h - by;
  const between = (a, b, count) => Array.from({ length: count + 1 }, (_, k) => [a[0] + ((b[0] - a[0]) * k) / count, a[1] + ((b[1] - a[1]) * k) / count]);

  function pointsOf(container, { points, isBack }) {
    const absolute = points.map(([x, y]) => [x + container.X, y + container.Y]);
    if (isBack) return absolute.slice(1).flatMap((point, k) => between(absolute[k], point, 40));
    const [first, [x1, y1], [x2, y2]] = absolute;
    const curve = Array.from({ length: 41 }, (_, k) => {
      const t = k / 40, s = 1 - t, half = (y1 + y2) / 2, early = s * s * s + 3 * s * s * t, late = 1 - early;
      return [early * x1 + late * x2, s * s * s * y1 + 3 * s * t * half + t * t * t * y2];
    });
    return [...between(first, [x1, y1], 10), ...curve];
  }

  for (const container of boxes.filter((box) => box.isOpen)) {
    for (const { key, hops } of container.nets.values()) {
      for (const hop of hops) {
        const points = pointsOf(container, hop);
        for (const box of boxes) {
          if (!within(container, box) && points.some((point) => inside(point, box, 0.5))) faults.push(`an edge of ${name(key)} crosses ${name(box)}`);
        }
        if (container.parent && !points.every((point) => inside(point, container, -0.5))) faults.push(`an edge of ${name(key)} leaves ${name(container)}`);
      }
    }
    container.parts.forEach((a, k) => container.parts.slice(k + 1).forEach((b) => {
      if (a.X < b.X + b.w && b.X < a.X + a.w && a.Y < b.Y + b.h && b.Y < a.Y + a.h) faults.push(`${name(a)} overlaps ${name(b)}`);
    }));
    for (const part of container.parts) {
      if (part.X < container.X || part.Y < container.Y || part.X + part.w > container.X + container.w + 1e-6 || part.Y + part.h > container.Y + container.h + 1e-6) faults.push(`${name(part)} leaves ${name(container)}`);
    }
  }
  edges.forEach((targets, from) => targets.forEach((_, to) => {
    const pieces = hopsOfEdge(from, to).map(([container, hop]) => pointsOf(container, hop));
    const [x, y] = pieces[0][0], [u, v] = pieces[pieces.length - 1].slice(-1)[0];
    if (Math.abs(y - from.Y - from.h) > 1 || x < from.X || x > from.X + from.w) faults.push(`an edge does not begin at ${name(from)}`);
    if (Math.abs(v - to.Y) > 1 || u < to.X || u > to.X + to.w) faults.push(`an edge does not end at ${name(to)}`);
    pieces.slice(1).forEach((piece, k) => { if (Math.abs(piece[0][0] - pieces[k].slice(-1)[0][0]) > 1) faults.push(`an edge from ${name(from)} to ${name(to)} jumps`); });
  }));
  return faults;
}
