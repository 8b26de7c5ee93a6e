// Steps that repeat: a fold shows one iteration of them, or all if it is open.
const makeFold = ([first, period, times, inner]) => ({ first, period, times, inner: inner.map(makeFold), at: 0, open: false });
const folds = tape.folds.map(makeFold);
const shownAs = new Int32Array(count); // the op that is shown for each op
const timesOf = new Float64Array(count); // how many ops a shown op is shown for
const rowOf = new Int32Array(count);
let rows = []; // of the list: an op, or the head of a fold whose first op is `first`

function refold() {
  rows = [];
  addRows(folds, 0, count, 1, 0);
}

function addRows(list, start, end, times, depth) {
  let op = start;
  const addOps = (to) => {
    for (; op < to; op++) {
      shownAs[op] = op;
      timesOf[op] = times;
      rowOf[op] = rows.length;
      rows.push({ op, fold: null, first: -1, depth: depth + tape.depth[op] });
    }
  };
  for (const fold of list) {
    const { period } = fold, first = start + fold.first, past = first + period * fold.times;
    addOps(first);
    rows.push({ op: first + fold.at * period, fold, first, depth: depth + tape.depth[first] });
    const [from, to] = fold.open ? [0, fold.times] : [fold.at, fold.at + 1];
    for (let k = from; k < to; k++) addRows(fold.inner, first + k * period, first + (k + 1) * period, fold.open ? times : times * fold.times, depth + 1);
    if (!fold.open) {
      for (let hidden = first; hidden < past; hidden++) {
        const shown = first + fold.at * period + ((hidden - first) % period);
        shownAs[hidden] = shownAs[shown];
        rowOf[hidden] = rowOf[shown];
      }
    }
    op = past;
  }
  addOps(end);
}

// The folds around an op, the outermost first, each with its first op and the op's iteration.
function foldsAround(op) {
  const around = [];
  for (let list = folds, start = 0; ;) {
    const from = start;
    const fold = list.find(({ first, period, times }) => op >= from + first && op < from + first + period * times);
    if (!fold) return around;
    const first = start + fold.first, at = Math.floor((op - first) / fold.period);
    around.push({ fold, first, at });
    start = first + at * fold.period;
    list = fold.inner;
  }
}

// Show the iterations that an op is in.
function showIteration(op) {
  if (shownAs[op] === op) return;
  foldsAround(op).forEach(({ fold, at }) => { if (!fold.open) fold.at = at; });
  refold();
}

// The op of the previous or next iteration that is at the place of an op, or -1.
function inOtherIteration(op, by) {
  const around = foldsAround(op).filter(({ fold }) => !fold.open).pop();
  return around && around.at + by >= 0 && around.at + by < around.fold.times ? op + by * around.fold.period : -1;
}

function toggleFold(row) {
  row.fold.open = !row.fold.open;
  refold();
  chooseFold(row);
}

const isHead = (row) => chosen.fold !== null && row.fold === chosen.fold && row.first === chosen.first;
const chosenRow = () => (chosen.fold ? rows.findIndex(isHead) : chosen.op >= 0 ? rowOf[chosen.op] : -1);

// The loop in the source that a fold repeats, as far as that is known: the innermost around all of its ops that are in one.
function foldLabel({ fold, first }) {
  if (fold.label === undefined) {
    let common = null;
    for (let op = first; op < first + fold.period; op++) {
      const loops = groupsAround(op).filter((k) => data.groups[k][2] === "loop");
      if (loops.length) common = (common || loops).filter((k) => loops.includes(k));
    }
    fold.label = common && common.length ? data.groups[common[0]][1] : `${fold.period} op${fold.period === 1 ? "" : "s"} repeated`;
  }
  return fold.label;
}

function groupsAround(op) {
  const groups = [];
  for (let k = tape.group[op]; k >= 0; k = data.groups[k][0]) groups.push(k);
  return groups;
}

refold();
