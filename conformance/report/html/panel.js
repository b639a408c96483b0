const rows = (heads, body, kinds = []) =>
  el("div", { class: "scroll" }, el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { class: kinds[at] }, head)))),
    el("tbody", {}, body.map((row) => el("tr", {}, row.map((item, at) => el("td", { class: kinds[at] }, item)))))));

// An address of the port's sources is only linked where the report was given one that begins with http.
function portLine(place) {
  if (!place) return "–";
  if (!data.source) return el("code", {}, place);
  const [, file, line] = place.match(/^(.*?)(?::(\d+))?$/);
  const path = file.split("/").map(encodeURIComponent).join("/");
  return el("a", { href: `${data.source.replace(/\/$/, "")}/${path}${line ? `#L${line}` : ""}`, rel: "noopener" }, place);
}

function drawBound(kernel) {
  const [ulp, library, source] = data.bounds[kernel.bound];
  const allowed = [];
  if (library) allowed.push(`the library function inside may be ${library} ulp off, carried through the formula for each element`);
  if (ulp) allowed.push(`the result may be ${ulp} ulp off`);
  const largest = Math.max(...kernel.runs.map((run) => run.ulp ?? -1));
  if (!allowed.length && largest > 0 && kernel.runs.every((run) => !run.failed)) allowed.push("each element has a bound of its own, from its terms");
  if (!allowed.length) allowed.push("none but what the source says");
  const { nearest } = resultOf(kernel);
  return [
    el("h3", {}, "Distance and bound"),
    el("dl", {}, el("dt", {}, "largest distance"), el("dd", {}, largest < 0 ? "–" : distance(largest)),
      nearest && [el("dt", {}, "nearest its bound"), el("dd", {}, nearest)],
      el("dt", {}, "allowed"), el("dd", {}, allowed.join("; ")), el("dt", {}, "source"), el("dd", {}, source)),
  ];
}

function drawCases(run) {
  if (run.matrix === undefined) return [];
  const entries = data.matrices[run.matrix];
  const order = (items) => [...new Set(items)].sort((a, b) => (a === "") === (b === "") ? 0 : a === "" ? -1 : 1);
  const layouts = order(entries.map(([layout]) => layout));
  const values = order(entries.map(([, value]) => value));
  const at = new Map(entries.map(([layout, value, ...counts]) => [`${layout}|${value}`, counts]));
  const name = (text, other) => (text === "" ? other : text);
  const plain = layouts.length > 1 ? "contiguous" : "all cases";
  const body = layouts.map((layout) =>
    el("tr", {}, el("th", { scope: "row", title: name(layout, plain) }, name(layout, plain)), values.map((value) => {
      const counts = at.get(`${layout}|${value}`);
      if (!counts) return el("td");
      const [passed, failed] = counts;
      const title = `${name(layout, plain)}, ${name(value, "no values")}: ${passed} pass, ${failed} fail`;
      return el("td", {}, el("span", { class: failed ? "some" : "none", title }, failed ? `✗${failed}${passed ? `/${passed + failed}` : ""}` : String(passed)));
    })));
  return [
    el("h3", {}, "Cases by layout and values"),
    el("div", { class: "scroll" }, el("table", { class: "cases" },
      el("thead", {}, el("tr", {}, el("td"), values.map((value) => el("th", { scope: "col" }, el("span", {}, name(value, "–")))))),
      el("tbody", {}, body))),
  ];
}

function drawFailures(kernel, run) {
  const shown = run.as === undefined ? run : kernel.runs[run.as];
  const failures = shown.failures ?? [];
  if (!failures.length) return [];
  const more = (run.failed ?? 0) - failures.length;
  return [
    el("h3", {}, run.as === undefined ? "What fails" : `What fails, as under ${data.runs[run.as].name}`),
    failures.map((failure, at) => el("details", { class: "failure", open: at === 0 },
      el("summary", {}, el("code", {}, failure.case)), el("p", {}, failure.why),
      failure.got === undefined ? "" : el("dl", {}, el("dt", {}, "got"), el("dd", { class: "mono" }, failure.got), el("dt", {}, "expected"), el("dd", { class: "mono" }, failure.expected ?? "–")),
      failure.reproduce ? command(failure.reproduce) : "")),
    more > 0 ? el("p", { class: "quiet" }, `${counted(more, "case")} more in the record.`) : "",
  ];
}

function drawTargets(kernel) {
  if (kernel.builds === undefined) return [];
  const targets = Object.entries(data.builds[kernel.builds]);
  const kinds = ["", "n", "n", "n", "n", "n", "n"];
  return [
    el("h3", {}, "Compiles for"),
    rows(["Target", "VGPR", "SGPR", "Spills", "LDS", "Scratch", "Wave"], targets.map(([target, figures]) => [target, ...figures.map(String)]), kinds),
  ];
}

function drawRuns(kernel) {
  if (kernel.runs.length < 2) return [];
  return [
    el("h3", {}, "Runs"),
    rows(["", "Run", "Failed", "Cases", "Distance", "s"], kernel.runs.map((run, at) => [
      cell(run.status), el("a", { href: address({ run: String(at) }) }, data.runs[at].name), run.failed ? number(run.failed) : "", run.cases ? number(run.cases) : "–", distance(run.ulp), run.seconds?.toFixed(2) ?? "",
    ]), ["", "", "n", "n", "n", "n"]),
  ];
}

function drawKernel(kernel) {
  const run = resultOf(kernel);
  const which = kernel.runs.indexOf(run);
  const wired = kernel.wired === undefined ? null : data.wired[kernel.wired];
  const message = run.message === undefined ? null : data.messages[run.message];
  const cases = run.cases ? `${number(run.failed ?? 0)} of ${counted(run.cases, "case")} failed` : "no case was run";
  const close = () => go({ kernel: "" });
  one("#kernel").replaceChildren(...[
    el("div", { class: "bar-top" }, cell(run.status), el("h2", { tabindex: "-1" }, kernel.name),
      el("button", { type: "button", title: "previous (k)", onclick: () => step(-1) }, "↑"), el("button", { type: "button", title: "next (j)", onclick: () => step(1) }, "↓"),
      el("button", { type: "button", title: "close (Esc)", id: "close", onclick: close }, "✕")),
    el("p", {}, el("b", {}, word[run.status]), `, ${cases}${run.missed ? `, ${number(run.missed)} not run` : ""}`, el("span", { class: "quiet" }, ` · ${[kernel.op.startsWith(kernel.module) ? "" : kernel.module, kernel.op, kernel.dtype, data.runs[which].name].filter(Boolean).join(" · ")}`)),
    (kernel.changes ?? []).map(([label, kind, before, after, which]) => el("p", {}, el("b", {}, `${kind === "better" ? "better" : "worse"} than the baseline`), ` (${label}): ${before} → ${after}`, which ? el("span", { class: "quiet" }, `; ${which}`) : "")),
    (run.causes ?? []).map((at) => data.causes[at]).map(([title, mark, advice, detail]) => el("p", {}, el("b", {}, `${title}${mark ? ` [${mark}]` : ""}`), detail ? `: ${detail}` : "", el("br"), el("span", { class: "quiet" }, `to do: ${advice}`))),
    (run.said ?? []).map((text) => el("p", {}, text)),
    message ? el("pre", {}, message) : "",
    command(`${data.runs[which].rerun}${kernel.name}`),
    el("dl", {}, el("dt", {}, "port"), el("dd", {}, portLine(run.source)), el("dt", {}, "Candle"), el("dd", {}, el("a", { href: kernel.link, rel: "noopener" }, kernel.upstream)),
      wired === null ? "" : [el("dt", {}, "wired at"), el("dd", {}, wired.length ? wired.join(", ") : "nowhere in Candle's Rust side")],
      run.robust ? [el("dt", {}, "robustness"), el("dd", {}, `${counted(run.robust[0], "case")} without a part in the verdict, ${number(run.robust[1])} failed${run.robust[2] ? `; the first: ${run.robust[2]}` : ""}`)] : ""),
    drawCases(run), drawFailures(kernel, run), drawRuns(kernel), drawBound(kernel),
    el("h3", {}, "Parameters"), rows(["Name", "Type", "Role"], data.params[kernel.params].map(([name, type, role]) => [el("code", {}, name), el("code", {}, type), role])),
    drawTargets(kernel),
    kernel.notes === undefined ? "" : [el("h3", {}, "Notes"), data.notes[kernel.notes].map((text) => el("p", {}, text))],
  ].flat(2).filter((part) => part !== ""));
  one("#kernel").scrollTop = 0;
}
