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
  const marked = sums("line", lines, (row) => lineWords(row.line), COLUMNS, (row) => row.line);
  const named = sums("primitive", primitives, (row) => row.name || "Python, between calls", COLUMNS);
  pane.replaceChildren(element("div", { class: "picture" }, said, marked, element("p", {}), named));
  return () => markSums(pane);
}

function drawMemory(pane) {
  const { lines, held, total, turned, moments, peak } = data.memory;
  const box = element("div", { class: "picture" });
  pane.replaceChildren(box);
  box.append(element("p", {}, "Bytes held after each line and recorded call", element("span", { class: "key forward" }), "and step back",
    element("span", { class: "key reverse" }), `, ${moments} in all; the line has what was at work besides`));
  const at = (k) => k / held.length;
  const curve = canvas(box, 220, (context, width, height) => {
    const most = area(context, width, height, held, at, (k) => (k < turned ? "forward" : "reverse"), total);
    context.strokeStyle = colour("text");
    context.beginPath();
    total.forEach((value, k) => context.lineTo(LEFT + at(k + 0.5) * (width - LEFT - 8), height - 18 - (value / most) * (height - 40)));
    context.stroke();
  });
  const columns = [["bytes", (row) => bytes(row.bytes)], ["of the peak", (row) => `${((100 * row.bytes) / peak).toFixed(1)} %`],
    ["pieces", (row) => row.pieces], ["kind", (row) => row.kind]];
  box.append(element("p", {}, "At the peak, by the line that made it"), sums("line", lines, (row) => lineWords(row.line), columns, (row) => row.line));
  return () => { curve.paint(); markSums(pane); };
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
