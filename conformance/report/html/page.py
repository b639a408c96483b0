"""The page: one HTML file with its data, style and script, readable without the script."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from conformance.record import KernelResult, Record
from conformance.report.builds import NOT_RUN, compile_table, compilers, everything_compiles, failures, spilling
from conformance.report.causes import shared_causes
from conformance.report.causes.text import described, heading
from conformance.report.comparison import KINDS, Changes, changes
from conformance.report.details import BESIDES
from conformance.report.headline import headline
from conformance.report.html.data import page_data
from conformance.report.html.grid import Table, tables
from conformance.report.html.next_steps import next_steps
from conformance.report.kernels import declared
from conformance.report.run_notes import shared_remarks
from conformance.report.runs import Records, executed, facts_table, given_specs, identity, labels, listed
from conformance.report.tally import (
    ABSENT,
    aligned,
    columns_of,
    launchers,
    of_module,
    results,
    selected_entries,
    tally,
    with_recorded_own,
)
from conformance.spec.entry import ROWS as ROWS_OF
from conformance.spec.entry import Entry, EntryRow
from conformance.spec.load import SpecModule, Specs
from conformance.status import ROWS, STATUSES, WORST_FIRST
from conformance.text import visible

if TYPE_CHECKING:
    from jinja2 import Template

_FOLDER = Path(__file__).parent
_SCRIPTS = ("dom.js", "state.js", "views.js", "panel.js", "main.js")


def render_html(records: Records, specs: Specs, baseline: Record | None = None, source_url: str | None = None) -> str:
    """The HTML report: an HTML 5 document that needs nothing else.

    ``baseline`` is a record to compare with. ``source_url`` is the address of the folder of the port's sources; without
    it they are not linked.
    """
    found = listed(records)
    specs = with_recorded_own(specs, found)
    names = labels(found)
    rows = [results(record, specs) for record in found]
    every: dict[Entry, list[list[KernelResult]]] = {
        entry: rows if ROWS_OF[entry].in_coverage else aligned(entry, found, specs) for entry in selected_entries(found)
    }
    parts = {entry: its for entry, its in every.items() if not ROWS_OF[entry].in_coverage}
    changed = changes(found, baseline, specs)
    head = headline(found, names, rows, specs)
    trends = _trends(found, names, rows, baseline, changed, specs)
    data = page_data(found, names, rows, parts, specs, changed, source_url)
    data["statuses"] = [[status, ROWS[status].sign, ROWS[status].label] for status in STATUSES]
    data["worst"] = WORST_FIRST
    data["parts"] = [[ROWS_OF[entry].part, ROWS_OF[entry].noun, _titled(entry)] for entry in parts]
    return filled(
        _FOLDER / "page.html.j2",
        page_style(),
        list(map(Path, _SCRIPTS)),
        data,
        headline=head,
        next=next_steps(rows[head.run], specs),
        **_verdicts(found, names, rows, specs, trends),
        trends=trends.values(),
        legend=_legend([*rows, *(part for its in parts.values() for part in its)]),
        tables=tables(rows, specs, specs.modules),
        parts=[_part(entry, its, specs) for entry, its in parts.items()],
        causes=[group for entry, its in every.items() for group in _causes(names, its, specs, ROWS_OF[entry])],
        changed=changed,
        kinds=KINDS,
        modules=[_modules(names, its, specs.modules_of(entry), ROWS_OF[entry].plural) for entry, its in every.items()],
        declared=_declared(found, names),
        builds=_builds(found, names, specs),
        facts=_facts(found, names, specs),
    )


def _titled(entry: Entry) -> str:
    """``Library calls``."""
    return ROWS_OF[entry].plural.capitalize()


@dataclass(frozen=True)
class _Part:
    """A section about entries that are counted apart from Candle's kernels: ``id`` is its address in the page, ``noun``
    what one is, and ``tables`` are its map."""

    id: str
    title: str
    noun: str
    about: str
    tables: Sequence[Table]


def _part(entry: Entry, rows: Sequence[Sequence[KernelResult]], specs: Specs) -> _Part:
    row = ROWS_OF[entry]
    return _Part(row.part, _titled(entry), row.noun, BESIDES[entry][1], tables(rows, specs, specs.modules_of(entry)))


def _declared(found: Sequence[Record], names: Sequence[str]) -> list[list[str]]:
    """What the port says of its kernels in candle-parity.toml: a choice, the kernels, and, where several runs differ,
    the runs."""
    runs: dict[tuple[str, str], list[str]] = {}
    for name, record in zip(names, found, strict=True):
        for one in declared(record.rows):
            runs.setdefault((one.text, one.kernels), []).append(name)
    several = any(len(about) < len(names) for about in runs.values())
    return [[*choice, *([", ".join(about)] if several else [])] for choice, about in runs.items()]


def page_style(*more: Path) -> str:
    """The style of every page, and of ``more`` files."""
    return "".join(path.read_text(encoding="utf-8") for path in (_FOLDER / "page.css", *more))


def filled(template: Path, style: str, scripts: Sequence[Path], data: Mapping[str, Any], **values: Any) -> str:
    """The page of ``template`` with its style, scripts (files of this folder) and data. It loads nothing from
    elsewhere."""
    from markupsafe import Markup

    script = _script(tuple(scripts))
    return _template(template).render(
        policy=_policy(style, script), style=Markup(style), script=Markup(script), data=Markup(_json(data)), **values
    )


@cache
def _template(file: Path) -> Template:
    """``file`` compiled: every text that it writes is escaped, and a name that it is not given is an error."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_shown
    )
    return environment.from_string(file.read_text(encoding="utf-8"))


def _shown(value: object) -> object:
    """What a template writes: every text without hidden characters, but for our own mark-up."""
    return visible(value) if type(value) is str else value


def _json(data: Mapping[str, Any]) -> str:
    """``data`` for a script element: nothing in it can end the element, or be taken for mark-up."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


@lru_cache(maxsize=2)
def _script(files: tuple[Path, ...]) -> str:
    parts = "\n".join((_FOLDER / file).read_text(encoding="utf-8") for file in files)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _policy(style: str, script: str) -> str:
    """Our own style and script, and nothing from anywhere else, whatever a record holds."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True)
class _Trend:
    """How a run's kernels at parity stand to the baseline's: ``before`` is the baseline's percentage."""

    kind: Literal["better", "worse", "same"]
    before: str
    gained: str
    text: str


def _trends(
    found: Sequence[Record],
    names: Sequence[str],
    rows: Sequence[Sequence[KernelResult]],
    baseline: Record | None,
    changed: Changes | None,
    specs: Specs,
) -> dict[str, _Trend]:
    """The trend of each run that was compared with the baseline, by its name; empty without a baseline."""
    if baseline is None or changed is None:
        return {}
    old = tally(results(baseline, specs))
    trends: dict[str, _Trend] = {}
    for name, part in zip(names, rows, strict=True):
        if name not in changed.compared:
            continue
        new = tally(part)
        gained = new.passing - old.passing
        trends[name] = _Trend(
            kind="better" if gained > 0 else "worse" if gained < 0 else "same",
            before=old.percent if old.total else "0",
            gained=f"{gained:+,} kernel{'' if abs(gained) == 1 else 's'} at parity" if gained else "As many at parity",
            text=f"since the baseline: {new.passing:,} now ({new.percent}%), {old.passing:,} then ({old.percent}%)"
            + (f", by {name}" if len(names) > 1 else ""),
        )
    return trends


def _verdicts(
    found: Sequence[Record],
    names: Sequence[str],
    rows: Sequence[Sequence[KernelResult]],
    specs: Specs,
    trends: Mapping[str, _Trend],
) -> dict[str, Any]:
    """A line for each run, and what is to be known of the figures."""
    verdicts = []
    for name, record, part in zip(names, found, rows, strict=True):
        count = tally(part)
        of, besides = given_specs(record.run, specs), launchers(record, specs)
        verdicts.append(
            {
                "name": name,
                "share": count.percent if count.total else "0",
                "failing": _judged_share(part),
                "headline": f"{count.passing} of {count.total} kernels{of} at parity ({count.percent}%)"
                + (f", {besides}" if besides else ""),
                "before": trends[name].before if name in trends else None,
                "executed": executed(record.run),
                "identity": identity(record.run),
            }
        )
    notes = [
        (remark.kind == "warning", remark.text if len(names) == 1 else f"{about}: {remark.text}")
        for remark, about in shared_remarks(found, names, rows, specs)
    ]
    return {
        "verdicts": verdicts,
        "loud": [text for loud, text in notes if loud],
        "quiet": [text for loud, text in notes if not loud],
    }


def _judged_share(part: Sequence[KernelResult]) -> str:
    """The percentage of kernels that are at parity or fail: where the bar's red part ends."""
    there = sum(row.status not in ABSENT for row in part)
    return f"{100 * there / len(part):.1f}" if part else "0"


def _legend(rows: Sequence[Sequence[KernelResult]]) -> list[tuple[str, str, str]]:
    met = {row.status for part in rows for row in part}
    return [(ROWS[status].sign, status, ROWS[status].label) for status in STATUSES if status in met]


def _causes(
    names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs, what: EntryRow
) -> list[dict[str, Any]]:
    groups = []
    for name, findings in shared_causes(names, rows, specs):
        causes = []
        for finding in findings:
            title, *lines = described(finding)
            kernels = [share.kernel.name for share in finding.shares]
            causes.append({"title": title, "lines": lines, "kernels": kernels})
        groups.append({"name": name, "heading": heading(findings), "causes": causes, "what": what})
    return groups


def _modules(
    names: Sequence[str],
    rows: Sequence[Sequence[KernelResult]],
    modules: Mapping[str, SpecModule],
    what: str,
) -> dict[str, Any]:
    """A row for each module; runs with the same figures have columns together. ``what`` is counted."""
    groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for name, part in zip(names, rows, strict=True):
        figures = (*(_figures(of_module(part, module)) for module in modules), _figures(part))
        groups.setdefault(figures, []).append(name)
    heads = ["Module", "Operations", what.capitalize()]
    for about in groups.values():
        first, *others = (column.title.capitalize() for column in columns_of("HTML"))
        heads += [f"{first} ({', '.join(about)})" if len(groups) > 1 else first, *others]
    titles = [(module.name, module.title) for module in modules.values()]
    sizes = [len(of_module(rows[0], name)) for name, _ in titles]
    body = [
        [name, title, size, *(cell for group in groups for cell in group[at])]
        for at, ((name, title), size) in enumerate(zip([*titles, ("all", "")], [*sizes, len(rows[0])], strict=True))
    ]
    title = "Modules" if what == ROWS_OF["kernel"].plural else f"Modules of {what}"
    return {"title": title, "heads": heads, "body": body, "numbers": range(2, len(heads))}


def _figures(rows: Sequence[KernelResult]) -> tuple[str, ...]:
    return tuple(column.text(rows) for column in columns_of("HTML"))


def _builds(found: Sequence[Record], names: Sequence[str], specs: Specs) -> list[dict[str, Any]]:
    """What compiles for AMD targets; runs with the same texts are named together."""
    builds: list[dict[str, Any]] = []
    for name, record in zip(names, found, strict=True):
        if not record.run.builds:
            continue
        heads, body = compile_table(record, specs)
        spills = spilling(record)
        every = everything_compiles(heads, body)
        lines = [*([every] if every else []), NOT_RUN, *compilers(record)]
        lines += [f"Registers spilled to memory: {', '.join(spills)}."] if spills else []
        build = {"heads": heads, "body": [] if every else body, "lines": lines, "failures": failures(record)}
        same = next((other for other in builds if all(other[key] == build[key] for key in build)), None)
        if same is None:
            builds.append({"name": f"AMD targets: {name}", **build})
        else:
            same["name"] += f", {name}"
    return builds


def _facts(found: Sequence[Record], names: Sequence[str], specs: Specs) -> list[dict[str, Any]]:
    """What was run: a table of what is the same for all runs, and one of what differs."""
    facts = facts_table(found, specs.upstream_repository)
    same = [[title, texts[0]] for title, texts in facts if len(set(texts)) == 1]
    differ = [[title, *texts] for title, texts in facts if len(set(texts)) > 1]
    one = {"heads": ["", names[0] if len(names) == 1 else "all runs"], "body": same}
    return [one, {"heads": ["", *names], "body": differ}] if differ else [one]
