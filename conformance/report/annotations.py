"""Failures as GitHub's workflow commands, which it shows at the lines of the port in a pull request."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from conformance.files import KERNELS, SHIPPED_KERNELS
from conformance.outcome import Status
from conformance.record import KernelResult, Record, RunInfo
from conformance.report.about import Records, labels, listed, rerun
from conformance.report.causes import Finding, find_causes
from conformance.report.causes.compile_errors import compile_error_of
from conformance.report.tally import launcher_results, results
from conformance.spec.load import Specs
from conformance.text import one_line

MOST = 10
"""GitHub shows no more of a step."""

_SHOWN: tuple[Status, ...] = ("fail", "signature", "compile_error", "crash", "timeout")
_SUFFIXES = (".hip", ".cu", ".hsaco", ".co")
_NAMED = 4
_LONGEST = 500


def render_annotations(records: Records, specs: Specs) -> str:
    """A line per cause and place in the port, ``::error file=port/unary.hip,line=8,title=...::...``, at most ``MOST``
    and then how many there are more. Files are named from the folder that the run was started in."""
    found = listed(records)
    names = [f" ({name})" if len(found) > 1 else "" for name in labels(found)]
    lines = [line for name, record in zip(names, found, strict=True) for line in _of(record, specs, name)]
    more = [_command("notice", {"title": "candle-parity"}, f"{len(lines) - MOST} more are in the report")]
    return "".join(f"{line}\n" for line in [*lines[:MOST], *(more if len(lines) > MOST else [])])


def _of(record: Record, specs: Specs, name: str) -> Iterator[str]:
    parts = [
        find_causes([row for row in rows if row.status in _SHOWN], specs)
        for rows in (results(record, specs), launcher_results(record, specs))
    ]
    told: set[str] = set()  # a kernel is shown under its first cause
    for finding in (finding for part in parts for finding in part):
        places: dict[str, list[KernelResult]] = {}
        shares = [share for share in finding.shares if share.kernel.name not in told]
        told |= {share.kernel.name for share in shares}
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
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    first = rows[0]
    failure = next(iter(first.failures), None)
    why = finding.detail or first.message or ("" if failure is None else f"{failure.case}: {failure.why}")
    lines = [
        ", ".join(row.name for row in rows[:_NAMED]) + more,
        one_line(why)[:_LONGEST],
        f"to do: {finding.advice}",
        rerun(record.run, first.name) if failure is None else failure.reproduce,
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
    shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{kind} {shown}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
