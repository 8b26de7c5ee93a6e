// What is chosen and what is found, and who is told of it.
const data = JSON.parse(document.getElementById("data").textContent);
const tape = data.tape || { id: [], text: [], type: [], kind: [], value: [], bar: [], note: [], line: [], group: [], reads: [], depth: [], own: [], until: [], folds: [], bodies: [], carried: [], result: -1 };
const count = tape.id.length;
const chosen = { op: -1, line: -1, fold: null, first: -1 };
const found = { text: "", ops: [], set: new Set(), at: -1 };
const listeners = [];
const byId = (id) => document.getElementById(id);

const readers = tape.id.map(() => []);
tape.reads.forEach((reads, k) => new Set(reads).forEach((j) => readers[j].push(k)));
const opsOfLine = data.lines.map(() => []);
tape.line.forEach((line, k) => line >= 0 && opsOfLine[line].push(k));
const passOf = data.groups.map((group) => (group[0] < 0 ? group[1] : ""));
data.groups.forEach((group, k) => { if (group[0] >= 0) passOf[k] = passOf[group[0]]; });
const sideOf = (op) => (passOf[tape.group[op]] === "reverse pass" ? "reverse" : "forward");

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const link = (text, onclick, label = text) => element("button", { class: "link", type: "button", "aria-label": label, onclick }, text);

function choose(op, line = op >= 0 ? tape.line[op] : -1) {
  Object.assign(chosen, { op, line, fold: null, first: -1 });
  if (op >= 0) showIteration(op);
  listeners.forEach((tell) => tell());
}

function chooseFold({ fold, first }) {
  Object.assign(chosen, { op: -1, line: -1, fold, first });
  listeners.forEach((tell) => tell());
}

function chooseLine(line) {
  const ops = opsOfLine[line];
  const next = ops.find((op) => op > chosen.op);
  choose(chosen.line === line && next !== undefined ? next : ops.length ? ops[0] : -1, line);
}

const placeOf = (line) => {
  const [file, number, name] = data.lines[line];
  return `${data.files[file].name}:${number} in ${name}`;
};
// A line for a table: with its file, where there are several.
function lineWords(line) {
  if (line < 0) return "besides your lines";
  const [file, number, name] = data.lines[line];
  const part = data.files[file].parts.find(({ first, text }) => number >= first && number < first + text.length);
  const where = data.files.length > 1 ? `${data.files[file].name}:${number}` : number;
  return `${where}: ${(part && part.text[number - part.first].trim()) || name}`;
}

const haystacks = [];
function haystack(op) {
  if (haystacks[op] === undefined) {
    const line = tape.line[op] >= 0 ? placeOf(tape.line[op]) : "";
    haystacks[op] = `${tape.id[op]} ${tape.text[op]} ${tape.type[op]} ${tape.note[op]} ${line}`.toLowerCase();
  }
  return haystacks[op];
}

function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  found.text = text;
  found.ops = [];
  for (let op = 0; words.length && op < count; op++) if (words.every((word) => haystack(op).includes(word))) found.ops.push(op);
  found.set = new Set(found.ops);
  found.at = -1;
  if (found.ops.length) step(1);
  else listeners.forEach((tell) => tell());
}

function step(by) {
  if (!found.ops.length) return;
  found.at = (found.at + by + found.ops.length) % found.ops.length;
  choose(found.ops[found.at]);
}

function bytes(n) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (Math.abs(n) < 999.5 || unit === "GB") return `${n >= 99.95 || Number.isInteger(n) ? Math.round(n) : n.toPrecision(3)} ${unit}`;
    n /= 1000;
  }
}

function seconds(s) {
  if (!s) return "";
  for (const [unit, factor] of [["s", 1], ["ms", 1e3], ["µs", 1e6]]) {
    if (s * factor >= 0.9995 || unit === "µs") return `${s * factor >= 999.5 ? Math.round(s * factor) : (s * factor).toPrecision(3)} ${unit}`;
  }
}
function colour(name) {
  const probe = byId("found");
  probe.style.color = `var(--${name})`;
  const resolved = getComputedStyle(probe).color;
  probe.style.color = "";
  return resolved;
}
