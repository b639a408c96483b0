"""Bench records made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.engine.timing.measure import Loss, Measurement, Timing
from conformance.record.bench import BenchRecord, BenchRun, WorkloadResult, workload_result
from conformance.spec.load import load_specs

SPECS = load_specs()

RUN = BenchRun(
    runtime="cuda",
    device="NVIDIA H100",
    arch="sm_90",
    host="cuda runtime, driver for CUDA 13.0",
    kernels="kernels",
    against="../src",
    started="2026-01-02T03:04:05Z",
    seconds=60.0,
    upstream_commit="2a13b0f",
    git="abc123",
    against_git="def456-dirty",
    harness="fed321",
    copy_gbps=3000.0,
)


def timing(*milliseconds: float) -> Timing:
    return Timing(milliseconds, registers=30, local=0, shared=0, occupancy=1.0)


def workload(
    kernel: str,
    fields: str,
    ours: Sequence[float],
    theirs: Sequence[float] | None = None,
    moved: int = 3_000_000,
    operations: int | None = None,
    size: str = "large",
    copy: float = 3000.0,
    floor: float | None = None,
) -> WorkloadResult:
    timings = tuple(timing(*times) for times in (ours, theirs) if times is not None)
    shape = ((1, 1, 1), (1024, 1, 1))
    measured = Measurement(f"{kernel}({fields})", size, moved, operations, *shape, copy, timings, floor)
    return workload_result(SPECS.kernels[kernel], measured)


def record(*workloads: WorkloadResult, losses: Sequence[Loss] = (), **changes: Any) -> BenchRecord:
    return BenchRecord(bench=RUN.model_copy(update=changes), workloads=workloads, losses=tuple(losses))


FOUR = (
    workload("uneg_f32", "shape=[8]", [0.002] * 4, [0.001] * 4),  # 1,500 GB/s; half as fast
    workload("uabs_f32", "shape=[8]", [0.001] * 4, [0.002] * 4),  # 3,000 GB/s; twice as fast
    workload("uabs_f32", "shape=[2,4],layout=transposed", [0.004] * 4, [0.004] * 4),
    workload("conv1d_f32", "shape=[1,1,8],k=[3]", [0.01] * 4, [0.02] * 4, operations=7_000_000_000),
)
"""Two of a family and case, one of the family only, and one that computes."""
