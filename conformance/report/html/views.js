const signOf = (status) => el("i", { class: `cell ${status}`, "aria-hidden": "true" }, sign[status]);
const cells = new Map(all(".map a.cell").map((link) => [decodeURIComponent(link.hash.slice("#kernel=".length)), link]));

const SHOWN = "a.cell:not(.out)";

// The tab key stops once at each module's table; within it the arrow keys go on.
const tabStops = new Map();
function oneTabStop(figure) {
  const before = tabStops.get(figure);
  const stop = before?.matches(SHOWN) ? before : figure.querySelector(SHOWN);
  for (const link of figure.querySelectorAll(".map a.cell")) link.tabIndex = link === stop ? 0 : -1;
}
for (const figure of all("figure[data-module]"))
  figure.addEventListener("focusin", (event) => {
    if (!event.target.matches(SHOWN)) return;
    tabStops.set(figure, event.target);
    oneTabStop(figure);
  });

function drawMap(found) {
  const shown = new Set(found);
  for (const box of all(".next")) box.hidden = state.q !== "" || state.status !== "" || state.module !== "";
  for (const note of all(".nothing")) note.hidden = found.length > 0;
  const counts = {};
  kernels.forEach((kernel, at) => {
    const { status } = resultOf(kernel);
    const link = cells.get(kernel.name);
    const changed = kernel.changes?.[0][1] ?? "";
    link.className = ["cell", status, changed, shown.has(at) ? "" : "out", kernel.name === state.kernel ? "chosen" : ""].filter(Boolean).join(" ");
    link.textContent = sign[status];
    link.title = link.ariaLabel = `${kernel.name}: ${word[status]}${changed ? `, ${changed === "better" ? "better" : "worse"} than the baseline` : ""}`;
    const count = (counts[`${kernel.part ?? "map"} ${kernel.module}`] ??= [0, 0]);
    count[0] += status === "pass";
    count[1] += 1;
  });
  for (const figure of all("figure[data-module]")) {
    const [passing, total] = counts[`${figure.closest("section").id} ${figure.dataset.module}`] ?? [0, 0];
    for (const row of figure.querySelectorAll("tbody tr")) row.hidden = !row.querySelector(SHOWN);
    figure.hidden = !figure.querySelector(SHOWN);
    oneTabStop(figure);
    figure.querySelector(".count").textContent = `${passing}/${total}`;
  }
}

const COLUMNS = [
  ["kernel", "Kernel", ""],
  ["status", "Status", ""],
  ["failed", "Failed", "n"],
  ["cases", "Cases", "n"],
  ["distance", "Distance", "n wide"],
  ["module", "Module", "wide"],
  ["operation", "Operation", "wide"],
  ["dtype", "Type", "wide"],
  ["", "Port", "wide"],
  ["", "Candle", "wide"],
  ["seconds", "Seconds", "n wide"],
];

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function drawList(found) {
  const heads = COLUMNS.map(([key, words, kind]) => {
    const title = key === "kernel" ? capital(what()) : words;
    if (!key) return el("th", { class: kind }, title);
    const way = state.sort === key ? "ascending" : state.sort === `-${key}` ? "descending" : null;
    const next = state.sort === key ? `-${key}` : key;
    const arrow = way === "ascending" ? " ↑" : way === "descending" ? " ↓" : "";
    return el("th", { class: kind, "aria-sort": way }, el("button", { type: "button", "data-sort": key, onclick: () => go({ sort: next }, true) }, title + arrow));
  });
  const rows = found.map((at) => {
    const kernel = kernels[at];
    const run = resultOf(kernel);
    const differ = state.run === "" && kernel.runs.some((one) => one.status !== run.status);
    const marks = differ ? kernel.runs.map((one, which) => cell(one.status, `${data.runs[which].name}: ${word[one.status]}`)) : [signOf(run.status), ` ${word[run.status]}`];
    const texts = [
      el("a", { href: address({ kernel: kernel.name }), class: "mono" }, kernel.name), marks, run.failed ? number(run.failed) : "", run.cases ? number(run.cases) : "–",
      distance(run.ulp), kernel.module, kernel.op, kernel.dtype, run.source ?? "–", kernel.upstream, run.seconds?.toFixed(2) ?? "",
    ];
    return el("tr", { "data-kernel": kernel.name, class: kernel.name === state.kernel ? "chosen" : null },
      texts.map((text, number) => el(number ? "td" : "th", { class: COLUMNS[number][2] || null, scope: number ? null : "row" }, text)));
  });
  const table = el("table", { class: "plain" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows));
  one(`#${state.view} [data-list]`).replaceChildren(rows.length ? table : el("p", { class: "quiet" }, `No ${what()} is like that.`));
}

const VIEWS = [["map", "Map"], ["list", "List"], ...PARTS.map(([id, , title]) => [id, title]), ["causes", "Causes"], ["changes", "Changes"], ["runs", "Runs"]].filter(([id]) => one(`#${id}`));

// The modules of kernels and of launchers are others, so that a filter by one does not go from these to those.
const addressOf = (view) => address({ view, kernel: "", ...(partOf(view) === partOf(state.view) ? {} : { module: "" }) });

function drawNavigation() {
  one("nav").replaceChildren(
    ...VIEWS.map(([id, title]) => el("a", { href: addressOf(id), "aria-current": state.view === id ? "page" : null }, title)),
    el("button", { type: "button", id: "theme", title: "light or dark", "aria-label": "light or dark", onclick: turn }, "◐"),
  );
}

function turn() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

// Enter in the search opens the first kernel that matches: the worst, as in the list.
function openFirst(event) {
  const [first] = matching();
  if (event.key !== "Enter" || first === undefined || state.q.trim() === "") return;
  event.preventDefault();
  go({ kernel: kernels[first].name });
}

const option = (value, text, chosen) => el("option", { value, selected: value === chosen }, text);

function makeControls() {
  const search = el("input", { type: "search", id: "search", placeholder: "Search: name, operation, type, file, cause", "aria-label": "Search", oninput: (event) => go({ q: event.target.value }, true), onkeydown: openFirst });
  const module = el("select", { id: "module", "aria-label": "Module", onchange: (event) => go({ module: event.target.value }) });
  const run = el("select", { id: "run", "aria-label": "Run", onchange: (event) => go({ run: event.target.value }) }, option("", "all runs: the worst"), data.runs.map((one, at) => option(String(at), one.name)));
  one(".controls").append(search, module, data.runs.length > 1 ? run : "", el("span", { id: "chips" }), el("span", { class: "found", role: "status" }));
}

function drawControls(found) {
  const search = one("#search");
  if (search.value !== state.q) search.value = state.q;
  const modules = [...new Set(kernels.filter(isShown).map((kernel) => kernel.module))];
  one("#module").replaceChildren(option("", "all modules"), ...modules.map((name) => option(name, name)));
  one("#module").value = state.module;
  if (one("#run")) one("#run").value = state.run;
  const counts = {};
  for (const kernel of kernels.filter(isShown)) counts[resultOf(kernel).status] = (counts[resultOf(kernel).status] ?? 0) + 1;
  const chosen = new Set(state.status.split(",").filter(Boolean));
  const chips = data.statuses.filter(([status]) => counts[status]).map(([status]) => {
    const next = new Set(chosen);
    if (!next.delete(status)) next.add(status);
    return el("button", { type: "button", class: "chip", "data-status": status, "aria-pressed": String(chosen.has(status)), onclick: () => go({ status: [...next].join(",") }) }, signOf(status), `${word[status]} ${number(counts[status])}`);
  });
  const focused = document.activeElement?.dataset?.status;
  one("#chips").replaceChildren(...chips);
  if (focused) one(`[data-status="${focused}"]`)?.focus();
  const total = kernels.filter(isShown).length;
  one(".found").textContent = found.length === total ? counted(total, what()) : `${number(found.length)} of ${counted(total, what())}`;
  all(".verdicts li").forEach((line) => line.classList.toggle("chosen", line.dataset.run === state.run));
}
