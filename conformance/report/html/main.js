let drawn = "";

function show() {
  readAddress();
  if (!VIEWS.some(([id]) => id === state.view)) state.view = "map";
  const found = matching();
  document.documentElement.classList.toggle("open", state.kernel !== "");
  for (const [id] of VIEWS) one(`#${id}`).hidden = id !== state.view;
  one(".controls").hidden = !hasMatches(state.view);
  drawNavigation();
  drawControls(found);
  drawMap(found);
  if (hasList(state.view)) drawList(found);
  const panel = one("#kernel");
  panel.hidden = state.kernel === "";
  const key = `${state.kernel}|${state.run}`;
  if (state.kernel && key !== drawn) {
    drawKernel(kernels[byName.get(state.kernel)]);
    panel.querySelector("h2").focus({ preventScroll: matchMedia("(min-width: 62rem)").matches });
  }
  if (!state.kernel && drawn) cells.get(drawn.split("|")[0])?.focus({ preventScroll: true });
  drawn = state.kernel ? key : "";
  reachScrolling();
}

// The next kernel that passes the filter, in the order of the list.
function step(by) {
  const found = matching();
  if (!found.length) return;
  const at = found.indexOf(byName.get(state.kernel));
  const next = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
  go({ kernel: kernels[found[next]].name }, state.kernel !== "");
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  const line = event.target.closest("[data-list] tbody tr, .verdicts li");
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if (link) {
    event.preventDefault();
    const given = new URLSearchParams(link.hash.slice(1));
    const only = [...given.keys()].join() === "kernel";
    if (only) go({ kernel: given.get("kernel") });
    else { history.pushState(null, "", link.hash); show(); }
  } else if (line?.dataset.kernel) go({ kernel: line.dataset.kernel });
  else if (line && data.runs.length > 1 && !String(getSelection())) go({ run: state.run === line.dataset.run ? "" : line.dataset.run });
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    if (typing) event.target.blur();
    else if (state.kernel) go({ kernel: "" });
    return;
  }
  if (typing) return;
  if (event.key === "/") { event.preventDefault(); go({ kernel: "", view: hasList(state.view) ? state.view : "map" }); one("#search").focus(); }
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "c" && state.kernel) one("#kernel .copy").click();
  else if (VIEWS[Number(event.key) - 1]) { history.pushState(null, "", addressOf(VIEWS[Number(event.key) - 1][0])); show(); }
  else moveInMap(event);
});

// Arrow keys go from cell to cell of a module's table.
function moveInMap(event) {
  const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
  const from = event.target.closest(".map a.cell");
  if (!from || !(down || right)) return;
  event.preventDefault();
  const lines = [...from.closest("tbody").rows];
  let [row, column] = [lines.indexOf(from.closest("tr")), from.closest("td").cellIndex];
  for (;;) {
    [row, column] = [row + down, column + right];
    const place = lines[row]?.cells[column];
    if (!place || column < 1) return;
    const next = place.querySelector(SHOWN);
    if (next) return next.focus();
  }
}

window.addEventListener("popstate", show);
window.addEventListener("hashchange", show);
window.addEventListener("resize", reachScrolling);
document.documentElement.classList.add("js");
document.documentElement.classList.toggle("several", data.runs.length > 1);
makeControls();
show();
