"""The CSV report: a row per kernel."""

from __future__ import annotations

import csv
import io

from conformance.report.about import Records, labels, listed
from conformance.report.tally import is_present, results
from conformance.report.text import one_line
from conformance.spec.load import Specs

_KERNEL = ("kernel", "module", "family", "dtype", "upstream")
_RESULT = ("status", "present", "cases", "failed", "max_ulp", "seconds", "source", "message")


def render_csv(records: Records, specs: Specs) -> str:
    """RFC 4180 with a header line and ``\\n`` ends; with several records the result columns repeat with their label.

    A column per AMD target that was compiled for follows the result columns: ``compiles`` or nothing.
    """
    found = listed(records)
    names = labels(found)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    suffixes = [""] if len(names) == 1 else [f" ({name})" for name in names]
    heads = [*_KERNEL]
    for suffix, record in zip(suffixes, found, strict=True):
        heads += [f"{column}{suffix}" for column in (*_RESULT, *record.run.builds)]
    writer.writerow(heads)
    for columns in zip(*(results(record, specs) for record in found), strict=True):
        kernel = specs.kernels[columns[0].name]
        values: list[object] = [kernel.name, kernel.module, kernel.family, kernel.variant["dtype"], kernel.upstream]
        for row, record in zip(columns, found, strict=True):
            why = row.message or (row.failures[0].why if row.failures else "")
            values += [row.status, "yes" if is_present(row) else "no", row.cases, row.failed]
            values += ["" if row.max_ulp is None else f"{row.max_ulp:g}", row.seconds, row.source, one_line(why)]
            values += ["compiles" if target in row.compiles_for else "" for target in record.run.builds]
        writer.writerow(["" if value is None else value for value in values])
    return file.getvalue()
