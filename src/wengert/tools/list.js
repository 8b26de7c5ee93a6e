// The tape, one op a row; only the rows in sight are there.
const ROW = 20;

function drawList() {
  const pane = byId("list");
  const space = byId("rows");
  space.style.height = `${rows.length * ROW}px`;
  const first = Math.max(0, Math.floor(pane.scrollTop / ROW) - 10);
  const last = Math.min(rows.length, first + Math.ceil(pane.clientHeight / ROW) + 20);
  const current = chosenRow();
  const drawn = [];
  for (let k = first; k < last; k++) drawn.push(listRow(k, k === current));
  space.replaceChildren(...drawn);
  if (current >= first && current < last) pane.setAttribute("aria-activedescendant", `row-${current}`);
  else pane.removeAttribute("aria-activedescendant");
}

function listRow(k, isChosen) {
  const row = rows[k];
  const attributes = {
    id: `row-${k}`, role: "treeitem", "aria-level": row.depth + 1, "aria-posinset": k + 1, "aria-setsize": rows.length, "aria-selected": isChosen,
    style: `top:${k * ROW}px;padding-left:${8 + 14 * row.depth}px`,
  };
  const classes = ["row", sideOf(row.op)];
  if (isChosen) classes.push("chosen");
  return row.fold ? headRow(row, attributes, classes) : opRow(row.op, attributes, classes);
}

function headRow(row, attributes, classes) {
  const { open, at, times } = row.fold;
  const words = ` ${foldLabel(row)}`;
  const which = open ? "" : `  iteration ${at + 1}`;
  return element("div", { ...attributes, class: [...classes, "fold"].join(" "), "aria-expanded": open, "aria-label": `${times} times${words}${which}`, onclick: () => toggleFold(row) },
    open ? "▾ " : "▸ ", element("b", {}, `× ${times}`), words, element("span", { class: "said" }, which));
}

function opRow(op, attributes, classes) {
  if (found.set.has(op)) classes.push("match");
  if (chosen.line >= 0 && tape.line[op] === chosen.line) classes.push("same");
  const row = element("div", { ...attributes, class: classes.join(" "), "data-op": op, onclick: () => choose(op) }, ...coloured(tape.text[op]));
  if (tape.type[op]) row.append(element("span", { class: "type" }, `::${tape.type[op]}`));
  if (tape.note[op]) row.append(element("span", { class: "said" }, `  # ${tape.note[op]}`));
  if (op === tape.result) row.append(element("span", { class: "word" }, "  ← result"));
  return row;
}

function coloured(text) {
  return text.split(/(%[\d.]+|^(?:inp|const|guard) )/).filter(Boolean).map((part) => {
    if (part.startsWith("%") && part.length > 1) return element("span", { class: "variable" }, part);
    return /^(inp|const|guard) $/.test(part) ? element("span", { class: "word" }, part) : part;
  });
}

function markList() {
  const current = chosenRow();
  if (current >= 0) reveal(byId("list"), current * ROW, ROW);
  drawList();
}

function chooseRow(k) {
  const row = rows[Math.min(rows.length - 1, Math.max(0, k))];
  if (row.fold) chooseFold(row);
  else choose(row.op);
}

// Keys of the list: rows up and down, folds open and shut, iterations back and forth. Tells whether it used the key.
function listKey(key) {
  const current = chosenRow(), row = rows[current];
  const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW) - 2);
  const to = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page, Home: 0, End: rows.length - 1 }[key];
  if (to !== undefined) chooseRow(to);
  else if (row && row.fold && (key === "Enter" || key === " " || key === (row.fold.open ? "ArrowLeft" : "ArrowRight"))) toggleFold(row);
  else if (row && !row.fold && (key === "ArrowLeft" || key === "ArrowRight")) {
    const other = inOtherIteration(row.op, key === "ArrowLeft" ? -1 : 1);
    if (other >= 0) choose(other);
  } else return false;
  return true;
}

function drawDetail() {
  const box = byId("detail");
  box.replaceChildren();
  box.hidden = chosen.op < 0 && !chosen.fold;
  if (chosen.fold) foldDetail(box);
  else if (chosen.op >= 0) opDetail(box, chosen.op);
}

function foldDetail(box) {
  const row = rows[chosenRow()], { period, times, open } = chosen.fold;
  box.append(element("div", { class: "op" }, `× ${times}: ${foldLabel(row)}`),
    element("p", {}, `${period} op${period === 1 ? "" : "s"} in each iteration, ${period * times} in all. `, link(open ? "Show one iteration" : "Show all iterations", () => toggleFold(row))));
}

function opDetail(box, op) {
  const list = element("dl");
  const say = (name, ...what) => what.some((part) => part !== "") && list.append(element("dt", {}, name), element("dd", {}, ...what));
  say("type", tape.type[op]);
  say("value", tape.value[op]);
  say("cotangent", tape.bar[op]);
  say("note", tape.note[op]);
  if (tape.line[op] >= 0) say("line", link(placeOf(tape.line[op]), () => choose(op)));
  say("reads", ...links(tape.reads[op]));
  say("read by", ...links(readers[op]));
  for (const { fold, at } of foldsAround(op)) say("iteration", `${at + 1} of ${fold.times} `, ...otherIterations(op, fold, at));
  if (tape.own[op]) say("memory", `${bytes(tape.own[op])}, until ${tape.id[tape.until[op]]}`);
  box.append(element("div", { class: "op" }, ...coloured(tape.text[op])), list);
}

function otherIterations(op, fold, at) {
  const near = fold.open ? [] : [["previous", -1], ["next", 1]].filter(([, by]) => at + by >= 0 && at + by < fold.times);
  return near.flatMap(([name, by]) => [link(name, () => choose(op + by * fold.period), `${name} iteration`), " "]);
}

function links(ops) {
  const shown = [...new Set(ops)].slice(0, 30).flatMap((op) => [link(tape.id[op], () => choose(op)), " "]);
  return ops.length > 30 ? [...shown, `… ${ops.length - 30} more`] : shown.length ? shown : [""];
}
