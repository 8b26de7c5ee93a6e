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
    `Value and gradient take ${seconds(gradient)}, ${(gradient / plain).toPrecision(2)} times the ${seconds(plain)} of the value alone. Measured line by line: `,
    element("span", { class: "key forward" }), `${seconds(total("forward"))} forward`,
    element("span", { class: "key reverse" }), `${seconds(total("reverse"))} reverse, ${seconds(rest)} outside of your lines`);
  const marked = sums("line", lines, (row) => lineWords(row.line), COLUMNS, (row) => row.line);
  const named = sums("primitive", primitives, (row) => row.name || "Python, between calls", COLUMNS);
  pane.replaceChildren(element("div", { class: "picture" }, said, marked, element("p", {}), named));
  return () => markSums(pane);
}

function drawMemory(pane) {
  const { lines, held, total, turned, moments, peak } = data.memory;
  const box = element("div", { class: "picture" });
  pane.replaceChildren(box);
  box.append(element("p", {}, `Bytes held after each of ${moments} steps: `, element("span", { class: "key forward" }), "forward",
    element("span", { class: "key reverse" }), "reverse. The line adds what a step uses while it runs."));
  const at = (k) => k / held.length;
  const curve = canvas(box, 220, `Bytes held over time; the peak is ${bytes(peak)}`, (context, width, height) => {
    const most = area(context, width, height, held, at, (k) => (k < turned ? "forward" : "reverse"), total);
    context.strokeStyle = colour("text");
    context.beginPath();
    total.forEach((value, k) => context.lineTo(LEFT + at(k + 0.5) * (width - LEFT - 8), height - 18 - (value / most) * (height - 40)));
    context.stroke();
  });
  const columns = [["bytes", (row) => bytes(row.bytes)], ["of the peak", (row) => `${((100 * row.bytes) / peak).toFixed(1)} %`],
    ["pieces", (row) => row.pieces], ["kind", (row) => row.kind]];
  box.append(element("p", {}, "Bytes at the peak, by the line that allocated them"), sums("line", lines, (row) => lineWords(row.line), columns, (row) => row.line));
  return () => { curve.paint(); markSums(pane); };
}

function sums(title, rows, nameOf, columns, lineOf = () => -1) {
  const table = element("table", { class: "sums" }, element("tr", {}, element("th", { scope: "col" }, title), ...columns.map(([name]) => element("th", { scope: "col" }, name))));
  for (const row of rows) {
    const line = lineOf(row);
    const made = element("tr", line >= 0 ? { "data-line": line, onclick: () => choose(-1, line) } : {}, element("td", {}, line >= 0 ? element("button", { class: "link", type: "button" }, nameOf(row)) : nameOf(row)));
    made.append(...columns.map(([, text]) => element("td", {}, String(text(row)))));
    table.append(made);
  }
  return table;
}

function markSums(pane) {
  pane.querySelectorAll("tr[data-line]").forEach((row) => row.classList.toggle("chosen", Number(row.dataset.line) === chosen.line));
}
