"""Brings several records together: shards of one machine into one record, machines side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from conformance.record.model import KernelResult, Record, Status

# The worse result stands, so that no shard can hide another's failure; only "not run" gives way to anything.
_FROM_BEST: tuple[Status, ...] = (
    "not_run",
    "pass",
    "known_failure",
    "missing",
    "signature",
    "compile_error",
    "timeout",
    "crash",
    "fail",
)


def merge(records: Sequence[Record]) -> list[Record]:
    """One record per machine, in the order of their first appearance.

    Records are shards of one machine's run when runtime, device, host, wave, kernels path, thread orders, upstream
    commit, commit of the port, subject and traces are all equal. Of two results for a kernel the worse one stands. The
    merged run starts with the earliest shard and lasts as long as all of them together.
    """
    groups: dict[Hashable, list[Record]] = {}
    for record in records:
        groups.setdefault(_machine(record), []).append(record)
    return [group[0] if len(group) == 1 else _joined(group) for group in groups.values()]


def _machine(record: Record) -> Hashable:
    run = record.run
    return (
        run.runtime,
        run.device,
        run.host,
        run.wave,
        run.kernels,
        run.orders,
        run.upstream_commit,
        run.git,
        run.subject,
        run.traces,
    )


def _joined(shards: Sequence[Record]) -> Record:
    results: dict[str, KernelResult] = {}
    for shard in shards:
        for kernel in shard.kernels:
            other = results.get(kernel.name)
            if other is None or _FROM_BEST.index(kernel.status) > _FROM_BEST.index(other.status):
                results[kernel.name] = kernel
    runs = [shard.run for shard in shards]
    # A shard without patterns covered everything, so the whole did.
    patterns = () if any(not run.patterns for run in runs) else tuple(p for run in runs for p in run.patterns)
    run = runs[0].model_copy(
        update={
            "started": min(run.started for run in runs),
            "seconds": sum(run.seconds for run in runs),
            "patterns": tuple(dict.fromkeys(patterns)),
            "source_lines": {file: lines for run in runs for file, lines in run.source_lines.items()},
        }
    )
    return Record.of(run, results.values())
