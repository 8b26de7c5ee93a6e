// The user's source: a click on a line chooses its ops, and what is chosen elsewhere is marked here.
const lineAt = new Map(data.lines.map(([file, number], k) => [`${file}:${number}`, k]));
const sourceRows = [];

function drawSource() {
  const measured = measures();
  const most = Math.max(...[...measured.values()].flat().map(([, amount]) => amount), 1e-12);
  const order = data.files.map((_, k) => k).sort((a, b) => data.files[b].own - data.files[a].own || a - b);
  for (const k of order) {
    const file = data.files[k];
    const table = element("table", { class: "code", role: "presentation" });
    file.parts.forEach((part, n) => {
      if (n) table.append(element("tr", {}, element("td", { class: "gap", colspan: 4 }, "⋯")));
      part.text.forEach((text, j) => table.append(sourceRow(k, part.first + j, text, most, measured)));
    });
    byId("source").append(element("div", { class: "file", title: file.path }, file.gone ? `${file.name} (source not available)` : file.name), table);
  }
}

function sourceRow(file, number, text, most, measured) {
  const line = lineAt.get(`${file}:${number}`);
  const isTold = line !== undefined;
  const label = isTold && count ? `line ${number}, ${opsOfLine[line].length} ops` : `line ${number}`;
  const made = element("tr", {}, element("td", { class: "number" }, isTold ? element("button", { type: "button", "aria-label": label }, String(number)) : String(number)));
  if (measured.size) made.append(bars(measured.get(line) || [], most));
  const told = line === undefined ? 0 : opsOfLine[line].length;
  made.append(element("td", { class: "count" }, told ? `${told}` : ""), element("td", {}, text || " "));
  if (isTold) {
    made.className = "told";
    made.dataset.line = line;
    made.addEventListener("click", () => chooseLine(line));
    sourceRows[line] = made;
  }
  return made;
}

// What was measured of each line: [side, amount, text] for each of its bars.
function measures() {
  const found = new Map();
  const add = (line, ...bar) => line >= 0 && found.set(line, [...(found.get(line) || []), bar]);
  for (const row of data.profile ? data.profile.lines : []) {
    for (const side of ["forward", "reverse"]) if (row[side]) add(row.line, side, row[side], `${side} ${seconds(row[side])}`);
  }
  for (const row of data.memory ? data.memory.lines : []) {
    if (row.bytes > data.memory.peak / 100) add(row.line, row.kind === "cotangent" ? "reverse" : "forward", row.bytes, `${row.kind} ${bytes(row.bytes)}`);
  }
  return found;
}

function bars(rows, most) {
  const cell = element("td", { class: "bars", title: rows.map(([, , text]) => text).join(", ") });
  for (const [side, amount] of rows) {
    cell.append(element("span", { class: `bar ${side}`, style: `width:${Math.max(1, (86 * amount) / most)}px` }));
  }
  return cell;
}

function markSource() {
  const matches = new Set(found.ops.map((op) => tape.line[op]));
  sourceRows.forEach((row, line) => {
    row.classList.toggle("chosen", line === chosen.line);
    row.classList.toggle("match", matches.has(line));
  });
  const row = sourceRows[chosen.line];
  if (row) reveal(byId("source"), row.offsetTop, row.offsetHeight);
}

function reveal(pane, top, height) {
  const edge = 40;
  if (top < pane.scrollTop + edge || top + height > pane.scrollTop + pane.clientHeight - edge) pane.scrollTop = top - pane.clientHeight / 3;
}
