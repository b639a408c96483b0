"""The JSON record of a run, schema 1: what every report is rendered from.

    >>> from conformance.outcome import Outcome
    >>> from conformance.record import Record
    >>> from conformance.record.model import RunInfo, every_kernel
    >>> from conformance.spec.load import load_specs
    >>> specs = load_specs()
    >>> row = Outcome(name="uexp_f32", status="pass", cases=34).row(specs.kernels["uexp_f32"])
    >>> run = RunInfo(
    ...     runtime="cpu", device="host", started="2026-01-02T03:04:05Z", seconds=1.0, upstream_commit="2a13b0f3"
    ... )
    >>> record = Record.of(run, every_kernel(specs, [row]))
    >>> record.summary.total, record.summary.passed, record.summary.not_run
    (748, 1, 747)

A record has a row for each of Candle's kernels, whatever was selected: the percentage is always of all."""

from conformance.outcome import INFRASTRUCTURE, Failure, KernelResult, Resources
from conformance.record.files import check_specs, read_record, record_text, write_record
from conformance.record.merge import kept_apart, merge
from conformance.record.model import Build, Port, Record, RunInfo, Summary, every_kernel, summarise
from conformance.status import STATUSES, Status
from conformance.writing import FileError, write_bytes, write_text
