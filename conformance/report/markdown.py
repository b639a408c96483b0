"""``reports/PARITY.md``: the status document of a port."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.record import KernelResult, Record
from conformance.report.builds import NOT_RUN, compile_table, compilers, everything_compiles, failures, spilling
from conformance.report.causes import cause_section
from conformance.report.details import (
    LAUNCHERS,
    LIBRARIES,
    OWN,
    OWN_LAUNCHERS,
    Told,
    failure_lines,
    launcher_lines,
    missing_lines,
)
from conformance.report.families import status_table
from conformance.report.kernels import choice_lines
from conformance.report.launches import wired_words
from conformance.report.run_notes import failed_robustness, robustness_lines, shared_remarks
from conformance.report.runs import Records, executed, facts_table, given_specs, identity, labels, listed
from conformance.report.tally import ABSENT, launchers, results, results_of, selected_entries, tally, unknown
from conformance.spec.entry import ROWS as ENTRY_ROWS
from conformance.spec.entry import Entry
from conformance.spec.load import Specs
from conformance.text import code, fence, plain

_ELSEWHERE = ("Executed", "Compiled for")
"""Facts of a run that stand in the verdict or in a section of their own."""


def render_markdown(records: Records, specs: Specs) -> str:
    """The Markdown report: verdicts, status table, causes, details. What several runs have in common is there once."""
    found = listed(records)
    names = labels(found)
    rows = [results(record, specs) for record in found]
    heads, body = status_table(found, names, rows, specs)
    told: Told = {}
    every = list(zip(names, found, rows, strict=True))
    lines = [
        "# Parity with Candle's CUDA kernels",
        "",
        "Written by `candle-parity` from recorded runs; do not edit.",
        "",
        *_headlines(found, names, rows, specs),
        *_remarks(found, names, rows, specs),
        "",
        "## Status",
        "",
        *table(heads, body, "lrlll" + "l" * (len(heads) - 5)),
        "",
        "✅ every kernel at parity, which is every case equal to the reference or within its bound, ⚠️ some, ❌ none. "
        "Port and Candle: where the kernels are defined, and the lines of the files. Wired: "
        f"{wired_words([row for part in rows for row in part])}. Percentages are of all "
        f"kernels{_of_candle(found, specs)}, whatever was selected or could not be run, and rounded down.",
        *_sections("Compiles for AMD targets", names, [_builds(record, specs) for record in found]),
        *cause_section(names, rows, specs),
        *(
            line
            for entry in selected_entries(found)[1:]
            for line in cause_section(
                names,
                [results_of(entry, record, specs) for record in found],
                specs,
                f"Causes of {ENTRY_ROWS[entry].plural}",
            )
        ),
        "",
        "## What was run",
        "",
        *_what_was_run(found, names, specs),
        *_sections(
            "Not at parity",
            names,
            [failure_lines(record, part, specs, name, told) for name, record, part in every],
            "Nothing: no kernel that was judged failed.",
        ),
        *_sections("Missing or not run", names, [missing_lines(part, specs) for part in rows], "None."),
        *_sections("Linked launchers", names, [launcher_lines(record.launchers, LAUNCHERS) for record in found]),
        *_sections("Launchers not at parity", names, _failing_besides("launcher", found, names, specs)),
        *_sections("Library calls", names, [launcher_lines(record.libraries, LIBRARIES) for record in found]),
        *_sections("Library calls not at parity", names, _failing_besides("library", found, names, specs)),
        *_sections("Own kernels", names, [launcher_lines(record.own, OWN) for record in found]),
        *_sections("Own kernels not at parity", names, _failing_besides("own", found, names, specs)),
        *_sections("Own launchers", names, [launcher_lines(one.own_launchers, OWN_LAUNCHERS) for one in found]),
        *_sections("Own launchers not at parity", names, _failing_besides("own_launcher", found, names, specs)),
        *_sections(
            "The port's own choices",
            names,
            [choice_lines([*part, *one.of_port]) for one, part in zip(found, rows, strict=True)],
        ),
        *_sections("Robustness", names, [_robustness(part, specs) for part in rows]),
        *_sections("Robustness of launchers", names, [_robustness(one.launchers, specs, "launcher") for one in found]),
        *_sections("Remarks", names, [_annotated(part) for part in rows]),
        "",
        "## What upstream gets wrong",
        "",
        *_defects(specs),
        "",
        "## Inputs that are not compared",
        "",
        *_undefined(specs),
    ]
    return "\n".join(lines) + "\n"


def _sections(title: str, names: Sequence[str], parts: Sequence[list[str]], nothing: str = "") -> list[str]:
    """A section for each run that has something to say; runs with the same text share one.

    ``nothing`` is what a run says that has nothing to say; where none of them has, it is said once.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, part in zip(names, parts, strict=True):
        if part and part != [nothing]:
            groups.setdefault(tuple(part), []).append(name)
    if not groups:
        return ["", f"## {title}", "", nothing] if nothing else []
    lines: list[str] = []
    for text, about in groups.items():
        of = "" if len(about) == len(names) else f": {plain(', '.join(about))}"
        lines += ["", f"## {title}{of}", "", *text]
    return lines


def table(heads: Sequence[str], body: Iterable[Sequence[str]], align: str) -> list[str]:
    """The lines of a Markdown table. ``align`` has a letter for each column: l, r or c. Cells have to be safe
    already."""
    rules = {"l": ":--", "r": "--:", "c": ":-:"}
    rows = [heads, [rules[letter] for letter in align], *body]
    return ["| " + " | ".join(row) + " |" for row in rows]


def _headlines(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[str]:
    """A sentence for each device; runs on it with the same status for every kernel have one together."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, record, part in zip(names, found, rows, strict=True):
        count, run = tally(part), record.run
        of = given_specs(run, specs)
        headline = f"**{count.passing} of {count.total} kernels{of and f' {plain(of)}'} at parity ({count.percent}%)**"
        besides = launchers(record, specs)
        headline += f", {besides}" if besides else ""
        said = f"{headline}, {plain(executed(run))} ({plain(identity(run))})."
        groups.setdefault((said, tuple(row.status for row in part)), []).append(name)
    return [f"- {plain(', '.join(about))}: {said}" for (said, *_), about in groups.items()]


def _of_candle(found: Sequence[Record], specs: Specs) -> str:
    given = dict.fromkeys(filter(None, (given_specs(record.run, specs) for record in found)))
    return f" {plain(next(iter(given)))}" if given else " that Candle has"


def _remarks(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[str]:
    """A block quote per remark, the kind in bold."""
    lines: list[str] = []
    for remark, about in shared_remarks(found, names, rows, specs):
        of = "" if len(names) == 1 else f": {plain(about)}"
        lines += ["", f"> **{remark.kind.capitalize()}{of}:** {plain(remark.text)}"]
    return lines


def _what_was_run(found: Sequence[Record], names: Sequence[str], specs: Specs) -> list[str]:
    """What is the same for all runs, then a table of what differs."""
    cases = ("Cases", [f"{record.summary.cases:,}, {record.summary.cases_failed:,} failed" for record in found])
    facts = [
        (title, list(map(plain, texts)))
        for title, texts in [*facts_table(found, specs.upstream_repository), cases]
        if title not in _ELSEWHERE and set(texts) != {"–"}
    ]
    same = [[title, texts[0]] for title, texts in facts if len(set(texts)) == 1]
    differ = [[title, *texts] for title, texts in facts if len(set(texts)) > 1]
    lines = table(["", plain(names[0]) if len(names) == 1 else "all runs"], same, "ll") if same else []
    if differ:
        lines += ["", *table(["", *map(plain, names)], differ, "l" * (len(names) + 1))]
    for name, record in zip(names, found, strict=True):
        if record.run.patterns:
            lines += ["", f"{plain(name)} was restricted to what is named under Selected; the rest counts as not run."]
        strange = unknown(record, specs)
        if strange:
            lines += ["", f"{plain(name)} has {len(strange)} kernels that no spec has, such as {code(strange[0])}."]
    return lines


def _robustness(part: Sequence[KernelResult], specs: Specs, entry: Entry = "kernel") -> list[str]:
    """What failed without a part in the verdict; how many there were is said above."""
    return robustness_lines(part, specs, entry) if failed_robustness(part) else []


def _failing_besides(entry: Entry, found: Sequence[Record], names: Sequence[str], specs: Specs) -> list[list[str]]:
    """The details of each run's entries of one kind that fail; nothing where none does."""
    parts = [results_of(entry, record, specs) for record in found]
    bad = [[row for row in part if row.status not in ("pass", *ABSENT)] for part in parts]
    told: Told = {}
    return [
        failure_lines(record, rows, specs, name, told) if rows else []
        for record, rows, name in zip(found, bad, names, strict=True)
    ]


def _annotated(part: Sequence[KernelResult]) -> list[str]:
    return [f"- {code(row.name)}: {plain(row.message)}" for row in part if row.status == "pass" and row.message]


def _builds(record: Record, specs: Specs) -> list[str]:
    if not record.run.builds:
        return []
    heads, body = compile_table(record, specs)
    every = everything_compiles(heads, body)
    align = "lr" + "c" * (len(heads) - 2)
    lines = [plain(every)] if every else table(list(map(plain, heads)), [list(map(plain, row)) for row in body], align)
    lines += ["", NOT_RUN, ""]
    lines += [f"- {plain(line)}" for line in compilers(record)]
    for what, error in failures(record):
        lines += ["", f"{plain(what)} does not compile:", "", *fence(error, "text")]
    spills = spilling(record)
    if spills:
        lines += ["", f"Warning, registers spilled to memory: {plain(', '.join(spills))}."]
    return lines


def _defects(specs: Specs) -> list[str]:
    """Each defect once, with the families and the number of kernels that it is about."""
    where: dict[str, dict[str, int]] = {}
    entries = [*specs.kernels.values(), *specs.launchers.values()]
    for kernel in entries:
        for text in kernel.upstream_defects:
            families = where.setdefault(text, {})
            families[kernel.family] = families.get(kernel.family, 0) + 1
    names = {kernel.fix.defect: kernel.fix.name for kernel in entries if kernel.fix is not None}
    lines = [
        "A port at parity does the same as Candle in these places too, except where an input is left out below. Where "
        "a name follows, a port that mends the defect can say so under `fixes` in its candle-parity.toml.",
        "",
    ]
    for text, families in where.items():
        about = ", ".join(f"{family} ({count})" for family, count in families.items())
        lines.append(f"- {plain(about)}: {plain(text)}{f' {code(names[text])}' if text in names else ''}")
    return lines if where else ["Nothing is recorded."]


def _undefined(specs: Specs) -> list[str]:
    where: dict[tuple[str, str], dict[str, int]] = {}
    for kernel in specs.kernels.values():
        for item in kernel.undefined:
            families = where.setdefault((item.input, item.reason), {})
            families[kernel.family] = families.get(kernel.family, 0) + 1
    lines = []
    for (given, reason), families in where.items():
        about = ", ".join(f"{family} ({count})" for family, count in families.items())
        lines.append(f"- {plain(about)}: {plain(given)}. {plain(reason[:1].upper() + reason[1:])}.")
    return lines or ["None."]
