// The tape, one op a row; only the rows in sight are there.
const ROW = 20;

function drawList() {
  const pane = byId("list");
  const space = byId("rows");
  space.style.height = `${count * ROW}px`;
  const first = Math.max(0, Math.floor(pane.scrollTop / ROW) - 10);
  const last = Math.min(count, first + Math.ceil(pane.clientHeight / ROW) + 20);
  const rows = [];
  for (let op = first; op < last; op++) rows.push(listRow(op));
  space.replaceChildren(...rows);
}

function listRow(op) {
  const classes = ["row", sideOf(op)];
  if (found.set.has(op)) classes.push("match");
  if (chosen.line >= 0 && tape.line[op] === chosen.line) classes.push("same");
  if (op === chosen.op) classes.push("chosen");
  const row = element("div", { class: classes.join(" "), style: `top:${op * ROW}px`, "data-op": op, onclick: () => choose(op) }, ...coloured(tape.text[op]));
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
  if (chosen.op >= 0) reveal(byId("list"), chosen.op * ROW, ROW);
  drawList();
}

function drawDetail() {
  const op = chosen.op;
  const box = byId("detail");
  box.replaceChildren();
  if (op < 0) return;
  const list = element("dl");
  const say = (name, ...what) => what.some((part) => part !== "") && list.append(element("dt", {}, name), element("dd", {}, ...what));
  say("type", tape.type[op]);
  say("value", tape.value[op]);
  say("cotangent", tape.bar[op]);
  say("note", tape.note[op]);
  if (tape.line[op] >= 0) say("line", element("a", { onclick: () => choose(op) }, placeOf(tape.line[op])));
  say("reads", ...links(tape.reads[op]));
  say("read by", ...links(readers[op]));
  if (tape.own[op]) say("memory", `${bytes(tape.own[op])}, until ${tape.id[tape.until[op]]}`);
  box.append(element("div", { class: "op" }, ...coloured(tape.text[op])), list);
}

function links(ops) {
  const shown = [...new Set(ops)].slice(0, 30).flatMap((op) => [element("a", { onclick: () => choose(op) }, tape.id[op]), " "]);
  return ops.length > 30 ? [...shown, `… ${ops.length - 30} more`] : shown.length ? shown : [""];
}
