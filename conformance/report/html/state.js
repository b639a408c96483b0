// What is shown is in the address: "#view=list&status=fail&kernel=uexp_f32". What is not there has its usual value.
const kernels = data.kernels;
const byName = new Map(kernels.map((kernel, at) => [kernel.name, at]));
const WORST = data.worst;
const usual = { view: "map", run: "", q: "", status: "", module: "", sort: "", kernel: "" };
let state = { ...usual };

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  state = { ...usual };
  for (const key of Object.keys(usual)) if (given.has(key)) state[key] = given.get(key);
  if (!byName.has(state.kernel)) state.kernel = "";
  else if (hasMatches(state.view) && !isShown(kernels[byName.get(state.kernel)]))
    state.view = kernels[byName.get(state.kernel)].part ?? "map";
  if (!data.runs[Number(state.run)] || state.run === "") state.run = "";
}

function address(changes) {
  const next = { ...state, ...changes };
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(next)) if (value !== usual[key]) given.set(key, value);
  return `#${given}`;
}

// A step that the browser's "back" should undo is pushed; typing in the search is not.
function go(changes, replace = false) {
  const to = address(changes);
  if (to === location.hash || (to === "#" && location.hash === "")) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  show();
}

function resultOf(kernel) {
  if (state.run !== "") return kernel.runs[Number(state.run)];
  return kernel.runs.reduce((worst, next) => (WORST.indexOf(next.status) < WORST.indexOf(worst.status) ? next : worst));
}

// What the search looks at, in lower case.
const searched = kernels.map((kernel) =>
  [kernel.name, kernel.module, kernel.op, kernel.dtype, kernel.upstream]
    .concat(kernel.runs.flatMap((run) => [run.source ?? "", ...(run.causes ?? []).flatMap((at) => data.causes[at]), ...(run.said ?? [])]))
    .join(" ")
    .toLowerCase(),
);

const SORTS = {
  kernel: (at) => kernels[at].name,
  module: (at) => kernels[at].module,
  operation: (at) => kernels[at].op,
  dtype: (at) => kernels[at].dtype,
  status: (at) => WORST.indexOf(resultOf(kernels[at]).status),
  failed: (at) => resultOf(kernels[at]).failed ?? 0,
  cases: (at) => resultOf(kernels[at]).cases ?? 0,
  distance: (at) => resultOf(kernels[at]).ulp ?? -1,
  seconds: (at) => resultOf(kernels[at]).seconds ?? 0,
};

// Candle's kernels, launchers, library calls and own kernels are counted apart: a view has those of one kind.
const PARTS = data.parts;
const partOf = (view) => PARTS.find(([id]) => id === view)?.[0];
const hasList = (view) => view === "list" || partOf(view) !== undefined;
const hasMatches = (view) => view === "map" || hasList(view);
const isShown = (kernel) => kernel.part === partOf(state.view);
const what = () => PARTS.find(([id]) => id === state.view)?.[1] ?? "kernel";

// Failures first, those with most failing cases before others; else as in the specs.
function worstFirst(a, b) {
  const [one, other] = [resultOf(kernels[a]), resultOf(kernels[b])];
  return WORST.indexOf(one.status) - WORST.indexOf(other.status) || (other.failed ?? 0) - (one.failed ?? 0) || a - b;
}

// The numbers of the kernels, or of what else the view has, that pass the filter, in the order of the list.
function matching() {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const statuses = new Set(state.status.split(",").filter(Boolean));
  const found = [];
  kernels.forEach((kernel, at) => {
    if (!isShown(kernel)) return;
    if (state.module && kernel.module !== state.module) return;
    if (statuses.size && !statuses.has(resultOf(kernel).status)) return;
    if (words.every((text) => searched[at].includes(text))) found.push(at);
  });
  const by = state.sort.replace("-", "");
  const key = Object.hasOwn(SORTS, by) ? SORTS[by] : null;
  if (key) {
    const way = state.sort.startsWith("-") ? -1 : 1;
    const values = new Map(found.map((at) => [at, key(at)]));
    found.sort((a, b) => (values.get(a) < values.get(b) ? -way : values.get(a) > values.get(b) ? way : a - b));
  } else found.sort(worstFirst);
  return found;
}
