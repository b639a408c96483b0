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
    """One tree's kernel in a workload: milliseconds (median and quartiles of ``launches``) and what it takes.

    ``registers`` of a thread, ``local`` (scratch) bytes of a thread, static ``shared`` bytes of a block; ``occupancy``
    is the share of a multiprocessor's threads that can be resident.
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
    """One case, timed. ``operations`` is the least that the launch computes; ``copy_gbps`` is what a
    device-to-device copy of as many bytes reached, ``floor_ms`` what an empty kernel with the same grid and block took,
    in milliseconds, where one was launched. ``ratio`` is the other tree's time over ours, the median over
    neighbouring pairs of launches, with its quartiles."""

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
        """Bytes over time, in 10^9 bytes a second."""
        return self.bytes / self.ours.ms / 1e6

    @property
    def share(self) -> float:
        """Of the copy's rate."""
        return self.gbps / self.copy_gbps

    @property
    def bound_share(self) -> float:
        """The longer of the copy's time and the empty kernel's, over ours."""
        return max(self.share, (self.floor_ms or 0) / self.ours.ms)

    @property
    def gops(self) -> float | None:
        """Operations over time, in 10^9 a second."""
        return None if self.operations is None else self.operations / self.ours.ms / 1e6

    @property
    def slower(self) -> bool:
        """Whether it is slower than the other tree's beyond noise."""
        return self.ratio is not None and self.ratio_high is not None and self.ratio < 1 - NOISE and self.ratio_high < 1


class CountResult(_LaunchedCase):
    """One case of which was counted what its launch does, on a runtime that interprets it: no time is known of it.

    ``elements`` are those of its largest buffer.
    """

    elements: PositiveInt
    counts: LaunchCounts


class BenchRun(Row):
    """What was timed, on what, and when; fields as in ``conformance.record.model.RunInfo``, those of the other tree
    with ``against``. ``copy_gbps`` is the highest rate that a copy on the device reached, at whatever size. A run
    that was stopped is not ``complete``: it has some of ``planned`` workloads."""

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
    """One bench run, schema 1."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    bench: BenchRun
    workloads: Annotated[tuple[WorkloadResult, ...], FailFast()]
    counts: Annotated[tuple[CountResult, ...], FailFast()] = ()
    losses: Annotated[tuple[Loss, ...], FailFast()] = ()


def workload_result(kernel: Kernel, measured: Measurement) -> WorkloadResult:
    """``measured`` with its medians, quartiles and pairwise ratios."""
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
    """``counted`` with what the specs say of its kernel."""
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
    """The record as JSON text, a line per workload."""
    data = record.model_dump(mode="json", by_alias=True)
    workloads = data.pop("workloads")
    head = json.dumps(data, indent=1, ensure_ascii=False)
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in workloads)
    return f'{head[:-2]},\n "workloads": [\n  {rows}\n ]\n}}\n'


def read_bench(path: Path) -> BenchRecord:
    """Reads what ``bench --json`` wrote; raises ``FileError``."""
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
