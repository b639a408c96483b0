"""The record of a ``bench`` run: what was timed or counted, on what, against what; unknown fields are ignored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Any, Literal

from pydantic import FailFast, Field, PositiveFloat, PositiveInt, ValidationError

from conformance.engine.timing.measure import Counted, Loss, Measurement, Timing
from conformance.outcome import Row, Texts
from conformance.reading import read_json, shortened
from conformance.runtimes.kind import LaunchCounts
from conformance.spec.kernel import Kernel
from conformance.text import one_line
from conformance.writing import FileError

NOISE = 0.02
"""A kernel counts as slower than the other tree's when the median pair is slower by more than this and three in four
pairs are slower."""


class TreeTiming(Row):
    """The times of one tree's kernel in one workload: median and quartiles of ``launches``, in milliseconds.

    ``registers`` and ``local`` are those of a thread (``local``: scratch, in bytes), ``shared`` is a block's static
    shared memory in bytes, and ``occupancy`` the share of a multiprocessor's threads that can be resident.
    """

    ms: PositiveFloat
    ms_low: float
    ms_high: float
    launches: int
    registers: int
    local: int
    shared: int
    occupancy: float


class _LaunchedCase(Row):
    """One case and its launch; ``bytes`` is the least that it moves."""

    kernel: str
    module: str
    family: str
    case: str
    size: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    bytes: PositiveInt


class WorkloadResult(_LaunchedCase):
    """One case that was timed.

    ``operations`` is the least number of operations that the launch needs. ``copy_gbps`` is what a copy of as many
    bytes on the device reached, in 10^9 bytes per second. ``floor_ms`` is the time of an empty kernel with the same
    grid and block, in milliseconds; ``None`` where none was launched. ``ratio`` is the other tree's time divided by
    ours: the median over neighbouring pairs of launches, with its quartiles.
    """

    operations: PositiveInt | None
    copy_gbps: PositiveFloat
    floor_ms: PositiveFloat | None = None
    ours: TreeTiming
    against: TreeTiming | None = None
    ratio: PositiveFloat | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None

    @property
    def gbps(self) -> float:
        """The bytes that the launch needs to move, divided by its median time: 10^9 bytes per second."""
        return self.bytes / self.ours.ms / 1e6

    @property
    def share(self) -> float:
        """``gbps`` divided by the rate of the copy."""
        return self.gbps / self.copy_gbps

    @property
    def bound_share(self) -> float:
        """The least possible time divided by ours, 1 at best. The least possible time is that of the copy, or of the
        empty kernel where that takes longer."""
        return max(self.share, (self.floor_ms or 0) / self.ours.ms)

    @property
    def gops(self) -> float | None:
        """The operations divided by the median time: 10^9 per second. ``None`` where memory is the limit."""
        return None if self.operations is None else self.operations / self.ours.ms / 1e6

    @property
    def slower(self) -> bool:
        """Whether the kernel is slower than the other tree's by more than noise; false without another tree."""
        return self.ratio is not None and self.ratio_high is not None and self.ratio < 1 - NOISE and self.ratio_high < 1


class CountResult(_LaunchedCase):
    """One case whose instructions and memory accesses were counted by a runtime that interprets it. It has no time.

    ``elements`` are those of its largest buffer.
    """

    elements: PositiveInt
    counts: LaunchCounts


class BenchRun(Row):
    """What was timed, on what, and when. Fields have the meaning of those of ``conformance.record.model.RunInfo``;
    those that begin with ``against`` are of the other tree.

    ``copy_gbps`` is the highest rate that a copy on the device reached, at any size, in 10^9 bytes per second. A run
    that was stopped is not ``complete``: it has some of ``planned`` workloads.
    """

    runtime: str
    device: str
    arch: str | None = None
    host: str | None = None
    kernels: str
    against: str | None = None
    started: str
    seconds: float
    hip_python: str | None = None
    upstream_commit: str
    git: str | None = None
    harness: str | None = None
    sources: str | None = None
    against_git: str | None = None
    against_sources: str | None = None
    copy_gbps: float = 0.0
    patterns: Texts = ()
    complete: bool = True
    planned: int | None = None


class BenchRecord(Row):
    """The record of a ``bench`` run, schema 1, as ``bench --json`` writes it."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    bench: BenchRun
    workloads: Annotated[tuple[WorkloadResult, ...], FailFast()]
    counts: Annotated[tuple[CountResult, ...], FailFast()] = ()
    losses: Annotated[tuple[Loss, ...], FailFast()] = ()


def workload_result(kernel: Kernel, measured: Measurement) -> WorkloadResult:
    """The row of a case that was ``measured``: its medians, quartiles and ratios of pairs."""
    ours, *others = measured.timings
    low, ratio, high = None, None, None
    if others:
        pairs = zip(ours.milliseconds, others[0].milliseconds, strict=True)
        low, ratio, high = _quartiles([other / own for own, other in pairs])
    return WorkloadResult(
        **_launched(kernel, measured),
        operations=measured.operations or None,
        # Five significant digits: a copy of a few bytes on the host is far below 0.1 GB/s, and never 0.
        copy_gbps=float(f"{measured.copy_gbps:.5g}"),
        floor_ms=measured.floor_ms and round(measured.floor_ms, 6),
        ours=_tree(ours),
        against=_tree(others[0]) if others else None,
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
    )


def count_result(kernel: Kernel, counted: Counted) -> CountResult:
    """The row of a case that was ``counted``."""
    return CountResult(**_launched(kernel, counted), elements=counted.elements, counts=counted.counts)


def _launched(kernel: Kernel, measured: Measurement | Counted) -> dict[str, Any]:
    """The case and its launch, as fields of ``_LaunchedCase``."""
    shape = {name: getattr(measured, name) for name in ("case", "size", "grid", "block", "bytes")}
    return {"kernel": kernel.name, "module": kernel.module, "family": kernel.family, **shape}


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Rounded to six decimals, which is nanoseconds of milliseconds."""
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    return round(low, 6), round(middle, 6), round(high, 6)


def _tree(timing: Timing) -> TreeTiming:
    low, middle, high = _quartiles(timing.milliseconds)
    return TreeTiming(
        ms=middle,
        ms_low=low,
        ms_high=high,
        launches=len(timing.milliseconds),
        registers=timing.registers,
        local=timing.local,
        shared=timing.shared,
        occupancy=round(timing.occupancy, 3),
    )


def bench_text(record: BenchRecord) -> str:
    """The record as JSON, with a line for each workload."""
    data = record.model_dump(mode="json", by_alias=True)
    workloads = data.pop("workloads")
    head = json.dumps(data, indent=1, ensure_ascii=False)
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in workloads)
    return f'{head[:-2]},\n "workloads": [\n  {rows}\n ]\n}}\n'


def read_bench(path: Path) -> BenchRecord:
    """The record in the file at ``path``, which ``bench --json`` wrote. Raises ``FileError``."""
    try:
        # Through JSON text once more: tuples come as lists, which strict models take from JSON alone.
        return BenchRecord.model_validate_json(json.dumps(read_json(path, pipe=True)))
    except OSError as cause:
        raise FileError(f"{path}: the record cannot be read ({cause.strerror})") from None
    except ValidationError as cause:
        finding = cause.errors(include_url=False)[0]
        place = ".".join(map(str, finding["loc"]))
        why = one_line(f"{place}: {finding['msg']}" if place else finding["msg"])
    except ValueError as cause:
        why = f"Invalid JSON: {shortened(str(cause))}"
    raise FileError(f"{path}: not a record of `candle-parity bench --json`: {why}")
