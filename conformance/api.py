"""What scripts use: judge a port, read a record, render a report.

The command line is made of the same functions, so that a script and a command come to the same verdicts::

    from conformance import api

    record = api.judge("path/to/port", "fill_*", settings=api.Settings(runtime="cpu"))
    print(record.summary.passed, "of", record.summary.total)
    for kernel in record.kernels:
        if kernel.status == "fail":
            print(kernel.name, kernel.failures[0].why, kernel.failures[0].reproduce)
    Path("parity.html").write_text(api.render(record, "html"))

Every error that a user can mend is an ``api.Error`` whose message is one sentence. Names of this module stay; what they
return are the record's own classes (docs/record.md), whose fields stay too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from conformance.engine.run import no_progress, run
from conformance.errors import UserError as Error
from conformance.record import KernelResult, Record, check_specs, read_record, write_record
from conformance.record.assemble import assemble
from conformance.report.asked import NOT_ASKED, Asked
from conformance.report.files import report_files
from conformance.report.terminal import render_terminal
from conformance.session.prepared import prepare
from conformance.session.setup import jobs_for
from conformance.settings import NO_SETTINGS, Settings
from conformance.spec.load import Specs, load_specs

__all__ = [
    "FORMATS_OF_REPORTS",
    "Error",
    "Format",
    "KernelResult",
    "Record",
    "Settings",
    "judge",
    "read",
    "render",
    "write",
]

Format = str
"""One of ``FORMATS_OF_REPORTS``."""

FORMATS_OF_REPORTS: tuple[Format, ...] = (*(report.name for report in report_files()), "terminal")
"""What ``render`` can make: Markdown (``md``), a page (``html``), a short Markdown for CI (``summary``), JUnit XML
(``junit``), the text of a terminal (``terminal``)."""


def judge(
    kernels: Path | str,
    *patterns: str,
    modules: Sequence[str] = (),
    settings: Settings = NO_SETTINGS,
    jobs: int | None = None,
    on_progress: Callable[[str, int, int], None] = no_progress,
) -> Record:
    """Judge the kernels of the sources at ``kernels``, a file or a folder, as ``candle-parity run --kernels`` does.

    ``patterns`` select kernels or cases (none: everything), and ``modules`` restricts them to some modules.
    ``settings`` are the options of the command line by name, such as ``Settings(runtime="cpu", wave=32)``; ``kernels``
    in them does not count. ``jobs`` is the number of processes that judge (default: one per core). ``on_progress`` is
    called with a step, how much of it is done, and how much there is to do. The declarations in the port's
    candle-parity.toml hold; its gate is not asked.

    Returns a record with a row for every kernel of the specs. Kernels that were not selected are ``not_run``, those
    that the port does not have are ``missing``. A kernel that fails raises nothing. Nothing is printed, and nothing but
    the cache is written.

    Raises ``Error`` where nothing can be judged: there are no sources, a pattern matches nothing, or a runtime cannot
    run here.
    """
    prepared = prepare(replace(settings, kernels=Path(kernels)), patterns, modules)
    result = run(
        prepared.setup,
        prepared.mode,
        prepared.kernels,
        prepared.cases,
        jobs_for(jobs, prepared.setup, len(prepared.kernels)),
        on_progress,
    )
    return assemble(prepared.specs, result, patterns)


def read(path: Path | str, specs: Specs | None = None) -> Record:
    """The record in the file at ``path``, which ``--json`` wrote; it may be compressed (.xz, .zst).

    ``specs`` are those that it has to be of (default: the shipped ones). Raises ``Error`` for a file that cannot be
    read or is no record, and for a record without a kernel of these specs.
    """
    record = read_record(Path(path))
    check_specs(record, load_specs() if specs is None else specs, Path(path))
    return record


def write(record: Record, path: Path | str) -> None:
    """Write ``record`` as JSON to ``path``, compressed if the name ends in .xz or .zst.

    The file is replaced in one step: a reader sees the old one or the new one. Raises ``Error`` where it cannot be
    written.
    """
    write_record(record, Path(path))


def render(
    records: Record | Sequence[Record],
    format: Format,
    specs: Specs | None = None,
    *,
    baseline: Record | None = None,
    source_url: str | None = None,
    asked: Asked = NOT_ASKED,
) -> str:
    """The report of one or several records as text, in one of ``FORMATS_OF_REPORTS``.

    HTML and the summary say what changed since ``baseline``. HTML links to the port's sources at ``source_url``. JUnit
    has what the gates make of failures (``asked``). ``specs`` are those whose kernels are counted (default: the shipped
    ones).

    Raises ``ValueError`` for no records, and for a format that is not there.
    """
    given = [records] if isinstance(records, Record) else list(records)
    counted = load_specs() if specs is None else specs
    if format == "terminal":
        return render_terminal(given, counted)
    known = {"baseline": baseline, "source_url": source_url, "asked": asked}
    report = next((report for report in report_files() if report.name == format), None)
    if report is None:
        raise ValueError(f"there is no report {format!r}; expected one of {', '.join(FORMATS_OF_REPORTS)}")
    return report.render(given, counted, known)
