// Liveness: what is alive at each op, and from when to when the largest values are.
function held() {
  const leaving = new Float64Array(count + 1);
  const curve = new Float64Array(count);
  let now = 0;
  for (let op = 0; op < count; op++) {
    now += tape.own[op];
    leaving[tape.until[op]] += tape.own[op];
    curve[op] = now;
    now -= leaving[op];
  }
  return curve;
}

function canvas(pane, height, label, draw) {
  const made = element("canvas", { height, role: "img", "aria-label": label });
  pane.append(made);
  const paint = () => {
    const ratio = window.devicePixelRatio || 1;
    const width = made.clientWidth || 600;
    made.width = width * ratio;
    made.height = height * ratio;
    made.style.height = `${height}px`;
    const context = made.getContext("2d");
    context.scale(ratio, ratio);
    context.font = `11px ${getComputedStyle(document.body).getPropertyValue("--mono")}`;
    draw(context, width, height);
  };
  paint();
  return { made, paint };
}

const LEFT = 66;

// A curve as an area, with the peak of `highest` marked, which it gives; `at(k)` is the place of its k-th value, from 0 to 1.
function area(context, width, height, curve, at, sides, highest = curve) {
  const x = (k) => LEFT + at(k) * (width - LEFT - 8);
  const y = (value) => height - 18 - (value / most) * (height - 40);
  const peak = highest.reduce((best, value, k) => (value > highest[best] ? k : best), 0);
  const most = Math.max(1, highest[peak]);
  for (const side of ["forward", "reverse"]) {
    context.fillStyle = colour(side);
    context.globalAlpha = 0.45;
    context.beginPath();
    for (const [k, value] of sampled(curve, width)) if (sides(k) === side) context.rect(x(k), y(value), Math.max(1.2, x(k + 1) - x(k) + 0.4), height - 18 - y(value));
    context.fill();
  }
  context.globalAlpha = 1;
  context.fillStyle = colour("quiet");
  context.textAlign = "right";
  for (const part of [0, 0.5, 1]) context.fillText(bytes(most * part), LEFT - 6, y(most * part) + 4);
  context.fillStyle = context.strokeStyle = colour("peak");
  context.beginPath();
  context.moveTo(x(peak) + 0.5, y(highest[peak]));
  context.lineTo(x(peak) + 0.5, height - 18);
  context.stroke();
  context.textAlign = x(peak) > width * 0.6 ? "right" : "left";
  context.fillText(` peak ${bytes(highest[peak])} `, x(peak), y(highest[peak]) - 6);
  return most;
}

// At most one value for each point of the width: the largest there.
function sampled(curve, width) {
  const step = Math.max(1, Math.floor(curve.length / width));
  const found = [];
  for (let k = 0; k < curve.length; k += step) {
    let best = k;
    for (let j = k; j < Math.min(curve.length, k + step); j++) if (curve[j] > curve[best]) best = j;
    found.push([best, curve[best]]);
  }
  return found;
}

function drawLiveness(pane) {
  const curve = held();
  const box = element("div", { class: "picture" });
  pane.replaceChildren(box);
  box.append(element("p", {}, "Bytes alive while the tape is played, op by op", element("span", { class: "key forward" }), "forward", element("span", { class: "key reverse" }), "reverse"));
  const at = (k) => k / Math.max(1, count);
  const top = canvas(box, 190, `Bytes alive at each op; the peak is ${bytes(Math.max(...curve))}`, (context, width, height) => {
    area(context, width, height, curve, at, sideOf);
    cursor(context, width, height, at);
  });
  const largest = [...tape.own.keys()].filter((op) => tape.own[op]).sort((a, b) => tape.own[b] * (tape.until[b] - b) - tape.own[a] * (tape.until[a] - a)).slice(0, 60).sort((a, b) => a - b);
  box.append(element("p", {}, `Lifetimes of the ${largest.length} largest values`));
  const below = canvas(box, 13 * largest.length + 10, "Lifetimes of the largest values", (context, width, height) => {
    cursor(context, width, height, at);
    largest.forEach((op, row) => {
      const x = LEFT + at(op) * (width - LEFT - 8);
      const w = Math.max(2, (at(tape.until[op] + 1) - at(op)) * (width - LEFT - 8));
      context.fillStyle = colour(op === chosen.op ? "peak" : sideOf(op));
      context.fillRect(x, row * 13 + 2, w, 9);
      context.fillStyle = colour("quiet");
      context.textAlign = "right";
      context.fillText(tape.id[op], LEFT - 6, row * 13 + 11);
    });
  });
  const opAt = (event) => {
    const width = event.target.clientWidth;
    return Math.min(count - 1, Math.max(0, Math.floor(((event.offsetX - LEFT) / (width - LEFT - 8)) * count)));
  };
  const tell = (event, op) => { event.target.title = `${tape.id[op]}: ${bytes(curve[op])} alive; ${tape.text[op]}`; };
  top.made.addEventListener("click", (event) => choose(opAt(event)));
  top.made.addEventListener("pointermove", (event) => tell(event, opAt(event)));
  const rowAt = (event) => largest[Math.min(largest.length - 1, Math.floor(event.offsetY / 13))];
  below.made.addEventListener("click", (event) => choose(rowAt(event)));
  below.made.addEventListener("pointermove", (event) => tell(event, rowAt(event)));
  return () => { top.paint(); below.paint(); };
}

function cursor(context, width, height, at) {
  if (chosen.op < 0) return;
  context.strokeStyle = colour("quiet");
  context.beginPath();
  context.moveTo(LEFT + at(chosen.op) * (width - LEFT - 8), 0);
  context.lineTo(LEFT + at(chosen.op) * (width - LEFT - 8), height);
  context.stroke();
}
