"""The CSV report: a row per kernel, then one per launcher."""

from __future__ import annotations

import csv
import io

from conformance.record import Record
from conformance.report.causes import causes_by_kernel
from conformance.report.run_notes import remarks
from conformance.report.runs import Records, given_specs, labels, listed
from conformance.report.tally import is_present, launcher_results, results
from conformance.spec.load import Specs
from conformance.text import csv_cell

_KERNEL = ("kernel", "module", "family", "dtype", "upstream")
_RESULT = (
    "status",
    "present",
    "cases",
    "failed",
    "max_ulp",
    "seconds",
    "source",
    "message",
    "specs",
    "remarks",
    "causes",
)


def render_csv(records: Records, specs: Specs) -> str:
    """RFC 4180 with a header line and ``\\n`` ends; with several records the result columns repeat with their label.

    ``specs`` names specs that are not the harness's own, else has their digest; ``remarks`` says what is to be known of
    the run, ``causes`` why the kernel fails. A column per AMD target that was compiled for follows the result columns:
    ``compiles`` or nothing. The last column, ``entry``, tells kernels from launchers, which are counted apart; these
    have rows where a record has one that was selected. A cell that a spreadsheet would take for a formula begins with
    an apostrophe.
    """
    found = listed(records)
    names = labels(found)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    suffixes = [""] if len(names) == 1 else [f" ({name})" for name in names]
    heads = [*_KERNEL]
    for suffix, record in zip(suffixes, found, strict=True):
        heads += [f"{column}{suffix}" for column in (*_RESULT, *record.run.builds)]
    writer.writerow(map(csv_cell, [*heads, "entry"]))
    parts = [results(record, specs) for record in found]
    of = [given_specs(record.run, specs).strip() or _digest(record) for record in found]
    texts = ["; ".join(map(str, remarks(*pair, specs))) for pair in zip(found, parts, strict=True)]
    called = [launcher_results(record, specs) if any(one.launchers for one in found) else [] for record in found]
    parts = [[*part, *launchers] for part, launchers in zip(parts, called, strict=True)]
    causes = [causes_by_kernel(part, specs) for part in parts]
    for columns in zip(*parts, strict=True):
        kernel = specs.entry(columns[0].name)
        values: list[object] = [
            kernel.name,
            kernel.module,
            kernel.family,
            kernel.variant.get("dtype", ""),
            kernel.upstream,
        ]
        for row, record, *about, named in zip(columns, found, of, texts, causes, strict=True):
            why = row.known_reason or row.message or (row.failures[0].why if row.failures else "")
            values += [row.status, "yes" if is_present(row) else "no", row.cases, row.failed]
            values += ["" if row.max_ulp is None else f"{row.max_ulp:g}", row.seconds, row.source, why, *about]
            values.append(named.get(row.name, ""))
            values += ["compiles" if target in row.compiles_for else "" for target in record.run.builds]
        values.append(kernel.entry)
        writer.writerow([csv_cell(value) if isinstance(value, str) else value for value in values])
    return file.getvalue()


def _digest(record: Record) -> str:
    digest = record.run.specs_digest
    return f"digest {digest}" if digest else ""
