"""What CI services read: JUnit, GitHub's workflow commands, and a badge."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from xml.etree import ElementTree

from conformance.files import KERNELS, SHIPPED_KERNELS
from conformance.record import KernelResult, Record, RunInfo
from conformance.record.model import BUILD
from conformance.report.again import again
from conformance.report.asked import NOT_ASKED, Asked
from conformance.report.causes import Finding, find_causes
from conformance.report.causes.compile_errors import compile_error_of
from conformance.report.run_notes import remarks
from conformance.report.runs import Records, executed, given_specs, labels, listed, rerun, what_was_judged
from conformance.report.tally import modules_of, of_module, results, results_of, selected_entries, tally
from conformance.spec.entry import ROWS as ENTRY_ROWS
from conformance.spec.entry import Entry
from conformance.spec.load import Specs
from conformance.status import EXPLAINED, ROWS
from conformance.text import one_line, some, visible

_ELEMENT: Mapping[str, str] = {status: row.junit for status, row in ROWS.items() if row.junit}


def render_junit(records: Records, specs: Specs, asked: Asked = NOT_ASKED) -> str:
    """JUnit XML: a test case for each kernel and record, without any character that XML forbids.

    A failure that the gates allow is skipped, with the reason. If the gates are not met and no kernel has failed (too
    many are missing), the suite ``verdict`` has a failure: there is one exactly if the exit code is 1.
    """
    found = listed(records)
    root = ElementTree.Element("testsuites", name="candle-parity")
    for name, record in zip(labels(found), found, strict=True):
        rows = results(record, specs)
        facts = _facts(record, rows, specs)
        for entry in selected_entries([record]):
            of_entry = results_of(entry, record, specs)
            for module in modules_of(entry, [record], specs):
                title = module if ENTRY_ROWS[entry].in_coverage else f"{ENTRY_ROWS[entry].part}: {module}"
                title += "" if len(found) == 1 else f" ({name})"
                _suite(root, title, record, of_module(of_entry, module), facts, asked.expected, entry)
    if asked.unmet is not None and all(one.tag not in ("failure", "error") for one in root.iter()):
        suite = ElementTree.SubElement(
            root, "testsuite", name="verdict", tests="1", failures="1", errors="0", skipped="0"
        )
        case = ElementTree.SubElement(suite, "testcase", classname="candle-parity", name="verdict", time="0.000")
        ElementTree.SubElement(case, "failure", type="verdict", message=visible(asked.unmet))
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _facts(record: Record, rows: list[KernelResult], specs: Specs) -> dict[str, str]:
    """The properties of every suite; those of specs, sandbox and remarks where there is something to say."""
    run = record.run
    facts = {"runtime": run.runtime, "device": run.device, "executed": executed(run)}
    facts["judged"] = what_was_judged(run)
    facts["specs"] = given_specs(run, specs).strip()
    facts["specs_digest"] = run.specs_digest or ""
    facts["sandbox"] = run.sandbox or ""
    facts["remarks"] = "; ".join(map(str, remarks(record, rows, specs)))
    return {key: value for key, value in facts.items() if value}


def _kind(row: KernelResult, expected: Mapping[str, str], entry: Entry) -> str:
    if row.known_reason is not None or row.name in expected:
        return "skipped"
    # A message says that the kernel was selected, and why it has no verdict all the same.
    idle = row.status == "not_run" and row.message
    unjudged = idle if ENTRY_ROWS[entry].must_be_there else row.lost
    return "error" if unjudged else _ELEMENT.get(row.status, "")


def _suite(
    root: ElementTree.Element,
    title: str,
    record: Record,
    rows: list[KernelResult],
    facts: dict[str, str],
    expected: Mapping[str, str],
    entry: Entry,
) -> None:
    kinds = [_kind(row, expected, entry) for row in rows]
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=visible(title),
        tests=str(len(rows)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
        time=f"{sum(row.seconds or 0 for row in rows):.3f}",
        timestamp=visible(record.run.started),
    )
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in facts.items():
        ElementTree.SubElement(properties, "property", name=key, value=visible(value))
    for row, kind in zip(rows, kinds, strict=True):
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=visible(f"{row.module}.{row.family}"),
            name=visible(row.name),
            time=f"{row.seconds or 0:.3f}",
        )
        if kind:
            first = (
                row.known_reason
                or expected.get(row.name)
                or row.message
                or (row.failures[0].why if row.failures else row.status)
            )
            detail = ElementTree.SubElement(case, kind, type=row.status, message=visible(first))
            if kind != "skipped":
                detail.text = visible(_detail(record, row))


def _detail(record: Record, row: KernelResult) -> str:
    lines = [f"{row.status}: {row.counts}; upstream {row.upstream}; source {row.source}"]
    if row.message:
        lines.append(row.message)
    for failure in row.failures:
        lines += [failure.case, f"  {failure.why}"]
        if failure.got is not None:
            lines.append(f"  element {failure.index}: got {failure.got}, expected {failure.expected}")
        lines.append(f"  {again(failure.reproduce)}")
    if not row.failures:
        lines.append(rerun(record.run, row.name))
    return "\n".join(lines)


MOST = 10
"""GitHub shows no more of a step."""

_SUFFIXES = (".hip", ".cu", ".hsaco", ".co")
_NAMED = 4
_LONGEST = 500


def render_annotations(records: Records, specs: Specs) -> str:
    """Workflow commands of GitHub: a notice about what each run judged, then a line for each cause and place in the
    port, such as ``::error file=port/unary.hip,line=8,title=...::...``.

    After ``MOST`` lines the rest is counted. Files are named from the folder in which the run was started.
    """
    found = listed(records)
    names = [f" ({name})" if len(found) > 1 else "" for name in labels(found)]
    lines = [line for name, record in zip(names, found, strict=True) for line in _of(record, specs, name)]
    more = [_notice(f"{len(lines) - MOST} more are in the report")]
    judged = [what_was_judged(record.run) for record in found]
    said = [_notice(f"judged{name}: {one_line(of)}") for name, of in zip(names, judged, strict=True) if of]
    return "".join(f"{line}\n" for line in [*said, *lines[:MOST], *(more if len(lines) > MOST else [])])


def _notice(text: str) -> str:
    return _command("notice", {"title": "candle-parity"}, text)


def _of(record: Record, specs: Specs, name: str) -> Iterator[str]:
    parts = [
        find_causes([row for row in rows if row.status in EXPLAINED], specs)
        for rows in (results_of(entry, record, specs) for entry in selected_entries([record]))
    ]
    shown_before: set[str] = set()  # a kernel is shown under its first cause
    for finding in (finding for part in parts for finding in part):
        places: dict[str, list[KernelResult]] = {}
        shares = [share for share in finding.shares if share.kernel.name not in shown_before]
        shown_before |= {share.kernel.name for share in shares}
        for share in shares:
            places.setdefault(_place(finding, share.kernel), []).append(share.kernel)
        for place, rows in places.items():
            file, _, line = place.rpartition(":")
            path = _path(record.run, file)
            where = {} if path is None else {"file": one_line(path), "line": one_line(line)}
            title = f"candle-parity{name}: {one_line(finding.cause.title)}"
            yield _command("error", {**where, "title": title}, _text(record, finding, rows))


def _place(finding: Finding, row: KernelResult) -> str:
    """Where the error is of a kernel that does not compile, else where the kernel is."""
    return (finding.places and compile_error_of(row).place) or row.source or ""


def _text(record: Record, finding: Finding, rows: Sequence[KernelResult]) -> str:
    first = rows[0]
    failure = next(iter(first.failures), None)
    why = finding.detail or first.message or ("" if failure is None else f"{failure.case}: {failure.why}")
    lines = [
        some([row.name for row in rows], _NAMED),
        one_line(why)[:_LONGEST],
        f"to do: {finding.advice}",
        rerun(record.run, first.name) if failure is None else again(failure.reproduce),
    ]
    return "\n".join(map(one_line, filter(None, lines)))


def _path(run: RunInfo, label: str) -> str | None:
    """A source of the port from where the run was started; ``None`` for what lies elsewhere.

    A label begins with the name of the tree's folder.
    """
    if run.kernels in (None, KERNELS, SHIPPED_KERNELS):
        return label if run.kernels == KERNELS and label else None
    given = posixpath.normpath(str(run.kernels))
    root = posixpath.dirname(given) or "." if given.endswith(_SUFFIXES) else given
    folder, _, inside = label.partition("/")
    outside = root.startswith(("/", "..")) or not inside
    if outside or (root != "." and posixpath.basename(root) != folder):
        return None
    return posixpath.normpath(f"{root}/{inside}")


def _command(kind: str, properties: dict[str, str], text: str) -> str:
    shown = ",".join(f"{key}={_data(one).replace(':', '%3A').replace(',', '%2C')}" for key, one in properties.items())
    return f"::{kind} {shown}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


_COLOURS = ((100.0, "#2da44e"), (50.0, "#bf8700"), (0.0, "#cf222e"))
_WIDTH = 7  # of a character of Verdana at 11 px, about; textLength makes it exact
_TITLE = "Candle parity"


def render_badge(records: Records, specs: Specs) -> str:
    """An SVG: ``Candle parity | cpu wave64 13.9% of 748``, with a part for each record.

    Its title says where the kernels ran, because the name of an architecture does not say that a GPU was used. The same
    records give the same bytes.
    """
    found = [record for record in listed(records) if record.run.runtime != BUILD] or listed(records)
    tallies = [tally(results(record, specs)) for record in found]
    named = zip(labels(found), tallies, strict=True)
    text = ", ".join(f"{name} {one.percent}% of {one.total}" for name, one in named)
    title = "; ".join([f"{_TITLE}: {text} kernels", *dict.fromkeys(one_line(executed(one.run)) for one in found)])
    least = min(100 * one.passing / one.total if one.total else 0.0 for one in tallies)
    colour = next(colour for bound, colour in _COLOURS if least >= bound)
    left, right = (len(part) * _WIDTH + 12 for part in (_TITLE, text))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
            f'aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{left}" height="20" fill="#444c56"/>',
            f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>',
            '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11">',
            f'<text x="6" y="14" textLength="{left - 12}">{_TITLE}</text>',
            f'<text x="{left + 6}" y="14" textLength="{right - 12}">{escape(text)}</text>',
            "</g>",
            "</svg>",
            "",
        ]
    )
