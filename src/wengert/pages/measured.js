// What was measured, as tables: by line, and by primitive.
const COLUMNS = [
  ["value alone", (row) => seconds(row.plain)],
  ["forward", (row) => seconds(row.forward)],
  ["reverse", (row) => seconds(row.reverse)],
  ["bytes forward", (row) => (row.forward_bytes >= 1000 ? bytes(row.forward_bytes) : "")],
  ["bytes reverse", (row) => (row.reverse_bytes >= 1000 ? bytes(row.reverse_bytes) : "")],
  ["calls", (row) => row.calls || ""],
];

function drawTime(pane) {
  const { lines, primitives, plain, gradient, rest } = data.profile;
  const total = (name) => lines.reduce((sum, row) => sum + row[name], 0);
  const said = element("p", {},
    `Value and gradient take ${seconds(gradient)}, ${(gradient / plain).toPrecision(2)} times the ${seconds(plain)} of the value alone. Watched: `,
    element("span", { class: "key forward" }), `${seconds(total("forward"))} forward`,
    element("span", { class: "key reverse" }), `${seconds(total("reverse"))} in reverse, ${seconds(rest)} around`);
  const nameOf = (row) => (row.line < 0 ? "in no line of yours" : `${data.lines[row.line][1]}: ${textOf(row.line)}`);
  const marked = sums("line", lines, nameOf, COLUMNS, (row) => row.line);
  const named = sums("primitive", primitives, (row) => row.name || "Python, between calls", COLUMNS);
  pane.replaceChildren(element("div", { class: "picture" }, said, marked, element("p", {}), named));
  return () => markSums(pane);
}

function sums(title, rows, nameOf, columns, lineOf = () => -1) {
  const table = element("table", { class: "sums" }, element("tr", {}, element("th", {}, title), ...columns.map(([name]) => element("th", {}, name))));
  for (const row of rows) {
    const line = lineOf(row);
    const made = element("tr", line >= 0 ? { "data-line": line, onclick: () => choose(-1, line) } : {}, element("td", {}, nameOf(row)));
    made.append(...columns.map(([, text]) => element("td", {}, String(text(row)))));
    table.append(made);
  }
  return table;
}

function markSums(pane) {
  pane.querySelectorAll("tr[data-line]").forEach((row) => row.classList.toggle("chosen", Number(row.dataset.line) === chosen.line));
}

function textOf(line) {
  const [file, number, name] = data.lines[line];
  const part = data.files[file].parts.find(({ first, text }) => number >= first && number < first + text.length);
  return (part && part.text[number - part.first].trim()) || name;
}
