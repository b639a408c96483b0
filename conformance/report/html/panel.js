const rows = (heads, body, kinds = []) =>
  el("div", { class: "scroll" }, el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, heads.map((head, at) => (head ? el("th", { class: kinds[at] || null, scope: "col" }, head) : el("td"))))),
    el("tbody", {}, body.map((row) => el("tr", {}, row.map((item, at) => el("td", { class: kinds[at] || null }, item)))))));

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

// A bar for each power of two of the input: how much of its bound the worst element there takes, and what is wrong.
function drawProfile({ profile }) {
  if (!profile) return [];
  const [width, height, top] = [6, 60, 12];
  const marks = [...profile];
  const from = (at) => (at < 32 ? `-2^${16 - at}` : `2^${at - 48}`);
  const to = (at) => (at < 32 ? `-2^${15 - at}` : `2^${at - 47}`);
  const range = (at) => at === 0 ? "to -2^15" : at === 63 ? "from 2^15" : at === 31 ? "-2^-15 to 0" : at === 32 ? "0 to 2^-15" : `${from(at)} to ${to(at)}`;
  const say = (mark) => (mark === "x" ? "wrong" : `${parseInt(mark, 36) * 5}% of the bound`);
  const bars = marks.flatMap((mark, at) => {
    if (mark === "." || mark === "0") return [];
    const tall = mark === "x" ? height + top : Math.max((parseInt(mark, 36) * height) / 20, 2);
    const bar = svg("rect", { x: at * width + 1, y: height + top - tall, width: width - 2, height: tall, class: mark === "x" ? "wrong" : "right" },
      svg("title", {}, `input ${range(at)}: ${say(mark)}`));
    return mark === "x" ? [bar, svg("text", { x: at * width + width / 2, y: height + top + 9, class: "cross" }, "✗")] : [bar];
  });
  const absent = marks.flatMap((mark, at) => (mark === "." ? [svg("line", { x1: at * width + 1, x2: (at + 1) * width - 1, y1: height + top + 2, y2: height + top + 2, class: "absent" })] : []));
  const labels = [[0, "-2^16"], [16, "-1"], [32, "0"], [48, "1"], [64, "2^16"]].map(([at, text]) => svg("text", { x: at * width, y: height + top + 20, class: at === 0 ? "first" : at === 64 ? "last" : "" }, text));
  const worst = marks.includes("x") ? `wrong for inputs ${marks.flatMap((mark, at) => (mark === "x" ? [range(at)] : [])).slice(0, 8).join(", ")}` : say(marks.reduce((a, b) => (b !== "." && b > a ? b : a), "0"));
  return [
    el("h3", {}, "Distance over the input"),
    el("figure", { class: "profile" },
      svg("svg", { viewBox: `0 0 ${64 * width} ${height + top + 24}`, role: "img", "aria-label": `worst distance over the input: ${worst}` },
        svg("line", { x1: 0, x2: 64 * width, y1: top, y2: top, class: "bound" }), svg("line", { x1: 0, x2: 64 * width, y1: height + top, y2: height + top, class: "base" }), ...bars, ...absent, ...labels),
      el("figcaption", { class: "quiet" }, "The worst element of each power of two of the input; the dashed line is its bound, ✗ is wrong, a gap in the axis had no element.")),
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
  const launched = kernel.launched === undefined ? null : data.launched[kernel.launched];
  const message = run.message === undefined ? null : data.messages[run.message];
  const cases = run.cases ? `${number(run.failed ?? 0)} of ${counted(run.cases, "case")} failed` : "no case was run";
  const close = () => go({ kernel: "" });
  one("#kernel").replaceChildren(...[
    el("div", { class: "bar-top" }, signOf(run.status), el("h2", { tabindex: "-1" }, kernel.name),
      el("button", { type: "button", title: "previous (k)", "aria-label": "previous kernel", onclick: () => step(-1) }, "↑"), el("button", { type: "button", title: "next (j)", "aria-label": "next kernel", onclick: () => step(1) }, "↓"),
      el("button", { type: "button", title: "close (Esc)", "aria-label": "close", id: "close", onclick: close }, "✕")),
    el("p", {}, el("b", {}, word[run.status]), `, ${cases}${run.missed ? `, ${number(run.missed)} not run` : ""}`, el("span", { class: "quiet" }, ` · ${[kernel.op.startsWith(kernel.module) ? "" : kernel.module, kernel.op, kernel.dtype, PARTS.find(([id]) => id === kernel.part)?.[1], data.runs[which].name].filter(Boolean).join(" · ")}`)),
    (kernel.changes ?? []).map(([label, kind, before, after, which]) => el("p", {}, el("b", {}, `${kind === "better" ? "better" : "worse"} than the baseline`), ` (${label}): ${before} → ${after}`, which ? el("span", { class: "quiet" }, `; ${which}`) : "")),
    (run.causes ?? []).map((at) => data.causes[at]).map(([title, mark, advice, detail]) => el("p", {}, el("b", {}, `${title}${mark ? ` [${mark}]` : ""}`), detail ? `: ${detail}` : "", el("br"), el("span", { class: "quiet" }, `to do: ${advice}`))),
    (run.said ?? []).map((text) => el("p", {}, text)),
    message ? el("pre", {}, message) : "",
    command(`${data.runs[which].rerun}${kernel.name}`),
    el("dl", {}, el("dt", {}, "port"), el("dd", {}, portLine(run.source)), el("dt", {}, kernel.link ? "Candle" : "spec"), el("dd", {}, kernel.link ? el("a", { href: kernel.link, rel: "noopener" }, kernel.upstream) : el("code", {}, kernel.upstream)),
      wired === null ? "" : [el("dt", {}, "wired at"), el("dd", {}, wired.length ? wired.join(", ") : "nowhere in Candle's Rust side")],
      launched === null ? "" : [el("dt", {}, "launched"), el("dd", {}, launched || "by no program that was recorded")],
      run.robust ? [el("dt", {}, "robustness"), el("dd", {}, `${counted(run.robust[0], "case")} without a part in the verdict, ${number(run.robust[1])} failed${run.robust[2] ? `; the first: ${run.robust[2]}` : ""}`)] : ""),
    drawCases(run), drawFailures(kernel, run), drawRuns(kernel), drawBound(kernel), drawProfile(run),
    data.params[kernel.params].length ? el("h3", {}, "Parameters") : "", data.params[kernel.params].length ? rows(["Name", "Type", "Role"], data.params[kernel.params].map(([name, type, role]) => [el("code", {}, name), el("code", {}, type), role])) : "",
    drawTargets(kernel),
    kernel.notes === undefined ? "" : [el("h3", {}, "Notes"), data.notes[kernel.notes].map((text) => el("p", {}, text))],
  ].flat(2).filter((part) => part !== ""));
  one("#kernel").scrollTop = 0;
}
