// What is shown is in the address: "#view=classes&dtype=f16&port=odellus". What is not there has its usual value.
const VIEWS = [["ports", "Ports"], ["parity", "Modules"], ["classes", "Bug classes"], ["own", "Own kernels"], ["declared", "Declared"], ["records", "Records"]].filter(([id]) => one(`#${id}`));
const usual = { view: "ports", dtype: "", port: "", sort: "", cell: "" };
const PASS = data.statuses.findIndex(([status]) => status === "pass");
const UNKNOWN = data.statuses.findIndex(([status]) => status === "not_run");
const MISSING = data.statuses.findIndex(([status]) => status === "missing");
let state = { ...usual };
let opened = "";

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  state = { ...usual };
  for (const key of Object.keys(usual)) if (given.has(key)) state[key] = given.get(key);
  if (!VIEWS.some(([id]) => id === state.view)) state.view = usual.view;
}

function address(changes) {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...state, ...changes })) if (value !== usual[key]) given.set(key, value);
  return `#${given}`;
}

function go(changes) {
  history.pushState(null, "", address(changes));
  show();
}

const ofType = (at) => state.dtype === "" || data.kernels[at][1] === state.dtype;
// Of one port every column, of all ports the best run of each.
const shownColumns = () => (state.port === "" ? data.best.map((at) => data.columns[at]) : data.columns.filter((column) => column.port === state.port));
const nameOfColumn = (column) => (state.port === "" ? column.port : column.level);
const judged = data.columns.filter((column) => column.level !== "names");

function figure(column, numbers) {
  const count = { passing: 0, total: numbers.length, unknown: 0, failing: 0 };
  for (const at of numbers) {
    count.passing += Number(column.states[at]) === PASS;
    count.unknown += Number(column.states[at]) === UNKNOWN;
    count.failing += ![PASS, UNKNOWN, MISSING].includes(Number(column.states[at]));
  }
  // Rounded down: nothing but everything is 100%.
  count.percent = Math.floor((1000 * count.passing) / count.total) / 10;
  count.text = count.unknown === count.total ? "unknown" : `${count.passing} of ${count.total}${count.unknown ? `, ${count.unknown} unknown` : ""}`;
  return count;
}

const nameOf = ([module, family]) => family || module || "all kernels";
const keyOf = ([module, family]) => `${module}/${family}`;

// At parity, then what fails, then what has no source; at the end what is unknown.
function bar({ passing, failing, unknown, total }) {
  const rect = (width, kind, x = 0) => svg("rect", { x: (100 * x) / total, width: (100 * width) / total, height: 4, class: kind });
  return svg("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, rect(total, "rest"), rect(unknown, "unknown", total - unknown), rect(passing + failing, "failing"), rect(passing, ""));
}

function cellOf(column, group, numbers) {
  const count = figure(column, numbers);
  const { text, percent } = count;
  if (text === "unknown") return el("td", { class: "quiet", "data-column": nameOfColumn(column) }, "unknown");
  const cell = `${data.columns.indexOf(column)}:${keyOf(group)}`;
  const link = el("a", { href: address({ cell }), class: state.cell === cell ? "chosen" : null, "data-cell": cell, "aria-label": `${column.port}, ${column.level}, ${nameOf(group)}: ${text}` }, el("b", {}, `${percent}%`), bar(count), el("span", { class: "quiet" }, text.replace(" of ", "/")));
  return el("td", { "data-column": nameOfColumn(column) }, link);
}

function heads(columns) {
  const head = (key, text) => {
    const sorted = state.sort === key;
    return el("th", { scope: "col", "aria-sort": sorted ? "ascending" : null },
      el("button", { type: "button", "data-sort": key, onclick: () => go({ sort: sorted ? "" : key }) }, text + (sorted ? " ↑" : "")));
  };
  return el("thead", {}, el("tr", {}, head("module", "Module"), columns.map((column) => head(String(data.columns.indexOf(column)), nameOfColumn(column)))));
}

const region = (label, table) => el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);

function drawParity() {
  const columns = shownColumns();
  const blocks = [];
  for (const group of data.groups) {
    const numbers = group[2].filter(ofType);
    if (!numbers.length) continue;
    if (!group[1]) blocks.push([]);
    blocks.at(-1).push([group, numbers]);
  }
  const by = data.columns[Number(state.sort)];
  const value = ([[group, numbers]]) => {
    if (!group[0]) return state.sort === "module" ? "" : -2;
    if (state.sort === "module") return group[0];
    const count = figure(by, numbers);
    return count.unknown === count.total ? -1 : count.percent;
  };
  if (state.sort !== "" && (by || state.sort === "module")) blocks.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
  const rows = blocks.flat().map(([group, numbers]) => {
    const cells = columns.map((column) => cellOf(column, group, numbers));
    return el("tr", {}, el("th", { scope: "row", class: group[1] ? "family" : null }, nameOf(group)), cells);
  });
  const which = state.port === "" ? "Of each port its best run; choose a port to see all of its runs." : `All runs of ${state.port}.`;
  one("#parity [data-table]").replaceChildren(el("p", { class: "quiet" }, which), region("At parity", el("table", { class: "plain board" }, heads(columns), el("tbody", {}, rows))));
}

// The kernels of a column that are under a cause.
const under = (column, cause) => Object.entries(column.why).filter(([at, [causes]]) => causes.includes(cause) && ofType(Number(at))).map(([at]) => Number(at));

// The causes that occur, by bug class: under each the ports that have it, with a link for each run that shows it.
function drawClasses() {
  const runs = judged.filter((column) => state.port === "" || column.port === state.port);
  const order = data.causes.map((cause, at) => [cause[0] || "~", cause[1], at]).sort();
  const items = [];
  for (const [, title, at] of order) {
    const ports = new Map();
    for (const column of runs) {
      const count = under(column, at).length;
      if (count) ports.set(column.port, [...(ports.get(column.port) ?? []), [column, count]]);
    }
    if (!ports.size) continue;
    const links = (found) => found.flatMap(([column, count], number) => {
      const cell = `${data.columns.indexOf(column)}:cause/${at}`;
      return [number ? ", " : "", el("a", { href: address({ cell }), "data-cell": cell, class: state.cell === cell ? "chosen" : null }, `${column.level}: ${counted(count, "kernel")}`)];
    });
    const mark = data.causes[at][0];
    items.push(el("li", {}, el("h3", {}, mark ? `${mark} ` : "", title), el("ul", {}, [...ports].map(([port, found]) => el("li", {}, el("b", {}, port), " ", links(found))))));
  }
  one("#classes [data-table]").replaceChildren(items.length ? el("ul", { class: "why" }, items) : el("p", { class: "quiet" }, "No mistake was seen in what was judged."));
}

// What the address opens: title, column and the numbers of its kernels.
function chosen() {
  const [which, key] = [state.cell.slice(0, state.cell.indexOf(":")), state.cell.slice(state.cell.indexOf(":") + 1)];
  const column = which === "" ? undefined : data.columns[Number(which)];
  if (!column) return null;
  if (key.startsWith("cause/")) {
    const cause = Number(key.slice("cause/".length));
    return data.causes[cause] ? [data.causes[cause][1], column, under(column, cause)] : null;
  }
  const group = data.groups.find((one) => keyOf(one) === key);
  return group ? [nameOf(group), column, group[2].filter(ofType)] : null;
}

function drawKernel(at, column) {
  const [causes, text, end] = column.why[at] ?? [[], undefined, ""];
  const { 0: name } = data.kernels[at];
  const status = data.statuses[Number(column.states[at])][0];
  const line = end.startsWith("candle-parity ") ? end : `${column.prefix}${end || name}`;
  return el("li", { "data-kernel": name }, el("p", {}, cell(status), " ", el("b", { class: "mono" }, name), `, ${word[status]}`),
    causes.map((cause) => data.causes[cause]).map(([mark, title, advice]) => el("p", {}, title, mark ? ` [${mark}]` : "", advice ? el("span", { class: "quiet" }, `; to do: ${advice}`) : "")),
    text === undefined || data.texts[text] === "" ? "" : el("p", { class: "quiet" }, data.texts[text]), command(line));
}

function drawPanel() {
  const panel = one("#kernel");
  const found = chosen();
  panel.hidden = found === null;
  document.documentElement.classList.toggle("open", found !== null);
  const key = found === null ? "" : `${state.cell}|${state.dtype}`;
  if (key === opened) return;
  if (found) {
    const [title, column, numbers] = found;
    const [passing, missing, unknown] = [PASS, MISSING, UNKNOWN].map((which) => numbers.filter((at) => Number(column.states[at]) === which));
    const named = (title, list) => (list.length ? [el("details", {}, el("summary", {}, `${title}: ${counted(list.length, "kernel")}`), el("p", { class: "mono" }, list.map((at) => data.kernels[at][0]).join(", ")))] : []);
    panel.replaceChildren(
      el("div", { class: "bar-top" }, el("h2", { tabindex: "-1" }, `${column.port}, ${column.level}: ${title}`), el("button", { type: "button", id: "close", title: "close (Esc)", "aria-label": "close", onclick: () => go({ cell: "" }) }, "✕")),
      el("p", {}, figure(column, numbers).text),
      ...(column.prepare ? [el("p", { class: "quiet" }, "In a folder of yours; a file that --config names is written there by candle-parity ports:"), command(column.prepare)] : []),
      el("ul", { class: "why" }, numbers.filter((at) => ![PASS, MISSING, UNKNOWN].includes(Number(column.states[at]))).map((at) => drawKernel(at, column))),
      ...named("No source", missing), ...named("Unknown", unknown), ...named(column.level === "names" ? "There" : "At parity", passing));
    panel.scrollTop = 0;
    panel.querySelector("h2").focus();
  } else {
    panel.replaceChildren();
    all("[data-cell]").find((link) => link.dataset.cell === opened.split("|")[0])?.focus();
  }
  opened = key;
}

const option = (value, text, current) => el("option", { value, selected: value === current }, text);

function makeControls() {
  const dtypes = [...new Set(data.kernels.map(([, dtype]) => dtype))].filter(Boolean);
  const ports = [...new Set(data.columns.map(({ port }) => port))];
  const choice = (key, label, values) => el("select", { id: key, "aria-label": label, onchange: (event) => go({ [key]: event.target.value, cell: "" }) }, option("", `${label}: all`, state[key]), values.map((value) => option(value, value, state[key])));
  one(".controls").append(choice("port", "Port", ports), choice("dtype", "Type", dtypes));
}

function show() {
  readAddress();
  for (const [id] of VIEWS) one(`#${id}`).hidden = id !== state.view;
  one("nav").replaceChildren(...VIEWS.map(([id, title]) => el("a", { href: address({ view: id, cell: "" }), "aria-current": state.view === id ? "page" : null }, title)));
  for (const key of ["port", "dtype"]) one(`#${key}`).value = state[key];
  one(".controls").hidden = !["parity", "classes"].includes(state.view);
  drawParity();
  drawClasses();
  drawPanel();
  reachScrolling();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  history.pushState(null, "", link.hash);
  show();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.cell) go({ cell: "" });
});
window.addEventListener("popstate", show);
window.addEventListener("hashchange", show);
window.addEventListener("resize", reachScrolling);
document.documentElement.classList.add("js");
makeControls();
show();
