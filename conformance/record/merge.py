"""Brings several records together: shards of one machine's run into one record, other runs side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from conformance.record.model import KernelResult, Record


def merge(records: Sequence[Record]) -> list[Record]:
    """One record per run, in the order of their first appearance.

    Two records are shards of one run when runtime, device, host, wave, kernels path, thread orders, upstream commit,
    commit of the port, subject and traces are all equal and no kernel was run in both; where one was, they stay apart,
    so that no result hides another. The merged run starts with the earliest shard and lasts as long as all together.
    """
    groups: list[list[Record]] = []
    for record in records:
        for group in groups:
            if _machine(group[0]) == _machine(record) and all(
                _judged(one).isdisjoint(_judged(record)) for one in group
            ):
                group.append(record)
                break
        else:
            groups.append([record])
    return [group[0] if len(group) == 1 else _joined(group) for group in groups]


def _judged(record: Record) -> set[str]:
    return {kernel.name for kernel in record.kernels if kernel.status != "not_run"}


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
            if kernel.name not in results or kernel.status != "not_run":
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
