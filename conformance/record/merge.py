"""Brings several records together: shards of one machine's run into one, builds into the runs of the same sources."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from conformance.port.config import OPTIONS_FILE
from conformance.record.identity import of_one_run
from conformance.record.model import INTERRUPTED, KernelResult, Record
from conformance.record.shards import is_shard, join_shards
from conformance.writing import FileError

BUILD = "build"
"""The runtime of a record that only says what compiles."""


def merge(records: Sequence[Record]) -> list[Record]:
    """One record per run, in the order of their first appearance.

    Two records are shards of one run when they are of one device and host, ``of_one_run`` and what the port declares
    are equal, and no kernel was run in both; where one was, they stay apart, so that no result hides another. The
    merged run starts with the earliest shard and lasts as long as all together. Records of ``run --shard`` are joined
    by ``join_shards``.

    Records of ``build`` are not runs: each is added to every run of the same sources, specs and declarations, so that
    the run's kernels say what they compile for, and stands alone only where no run is of its kernels path. Raises
    ``FileError`` when a run is, but of other sources or declarations.
    """
    runs = _runs(_with_shards_joined([record for record in records if record.run.runtime != BUILD]))
    builds = _builds([record for record in records if record.run.runtime == BUILD])
    alone = []
    for build in builds:
        same = [run for run in runs if _same_specs(run, build)]
        alike = [run for run in same if build.run.sources is not None and run.run.sources == build.run.sources]
        mine = [run for run in alike if _agree(run.run.declared, build.run.declared)]
        path = [run for run in same if run.run.kernels is not None and run.run.kernels == build.run.kernels]
        if path and not mine:
            what = f"declarations ({OPTIONS_FILE})" if any(run is one for run in path for one in alike) else "sources"
            raise FileError(
                f"the build of {build.run.kernels} ({build.run.started}) and its run ({path[0].run.started}) are of "
                f"different {what}; build and run again"
            )
        runs = [_with_build(run, build) if any(run is other for other in mine) else run for run in runs]
        alone += [] if mine else [build]
    return [*runs, *alone]


def kept_apart(records: Sequence[Record]) -> list[str]:
    """A sentence for each of ``records`` that is no shard of an earlier one only for what the port declares."""
    runs = [record for record in records if record.run.runtime != BUILD]
    found: list[str] = []
    for number, record in enumerate(runs):
        others = [one for one in runs[:number] if _machine(one) == _machine(record)]
        others = [one for one in others if _judged(one).isdisjoint(_judged(record))]
        if others and all(one.run.declared != record.run.declared for one in others):
            found.append(
                f"the runs of {record.run.kernels} at {others[0].run.started} and at {record.run.started} were made "
                f"with different declarations ({OPTIONS_FILE}) and are reported apart; to merge them, run one again"
            )
    return found


def _with_shards_joined(records: Sequence[Record]) -> list[Record]:
    """``records`` with the joined ones in the place of the first shard."""
    joined = join_shards(list(filter(is_shard, records)))
    place = next((index for index, record in enumerate(records) if is_shard(record)), len(records))
    whole = [[record for record in part if not is_shard(record)] for part in (records[:place], records[place:])]
    return [*whole[0], *joined, *whole[1]]


def _same_specs(run: Record, build: Record) -> bool:
    return _agree(run.run.specs_digest, build.run.specs_digest)


def _agree(one: str | None, other: str | None) -> bool:
    """Whether nothing says that two digests are of different things; older records have none."""
    return None in (one, other) or one == other


def _builds(records: Sequence[Record]) -> list[Record]:
    """One record per kernels path and content, with the targets of all; the latest build of a target counts."""
    found: dict[Hashable, Record] = {}
    for record in sorted(records, key=lambda item: item.run.started):
        run = record.run
        key = (run.kernels, run.sources, run.upstream_commit, run.specs_digest, run.declared)
        found[key] = _with_build(found[key], record) if key in found else record
    return list(found.values())


def _with_build(record: Record, build: Record) -> Record:
    """``record`` with the targets of ``build``; earlier entries of such a target are dropped."""
    targets = build.run.builds.keys()
    compiled = {kernel.name: kernel.compiles_for for kernel in build.kernels}
    kernels = []
    for kernel in record.kernels:
        kept = {target: build for target, build in kernel.compiles_for.items() if target not in targets}
        kernels.append(kernel.model_copy(update={"compiles_for": {**kept, **compiled.get(kernel.name, {})}}))
    builds = {**record.run.builds, **build.run.builds}
    return Record.of(record.run.model_copy(update={"builds": builds}), kernels, record.launchers)


def _runs(records: Sequence[Record]) -> list[Record]:
    groups: list[list[Record]] = []
    for record in records:
        for group in groups:
            same = _machine(group[0]) == _machine(record) and group[0].run.declared == record.run.declared
            if same and all(_judged(one).isdisjoint(_judged(record)) for one in group):
                group.append(record)
                break
        else:
            groups.append([record])
    return [group[0] if len(group) == 1 else _joined(group) for group in groups]


def _judged(record: Record) -> set[str]:
    return {row.name for row in (*record.kernels, *record.launchers) if row.status != "not_run"}


def _machine(record: Record) -> Hashable:
    """All that shards of one run have in common, but for what the port declares."""
    run = record.run
    gap = id(record) if run.missing_shards else None  # a run with a gap is not filled up from another
    return of_one_run(run), run.device, run.host, gap


def _joined(shards: Sequence[Record]) -> Record:
    results = _together([shard.kernels for shard in shards])
    runs = [shard.run for shard in shards]
    # A shard without patterns covered everything, so the whole did.
    patterns = () if any(not run.patterns for run in runs) else tuple(p for run in runs for p in run.patterns)
    counts = [run.selected for run in runs if run.selected is not None]
    launchers = _together([shard.launchers for shard in shards])
    judged = sum(row.status != "not_run" for row in results.values())
    selected = min(sum(counts), len(results)) if len(counts) == len(runs) else None
    stopped = any((row.message or "").startswith(INTERRUPTED) for row in launchers.values())
    run = runs[0].model_copy(
        update={
            "selected": selected,
            "complete": all(run.complete for run in runs) or (judged == selected and not stopped),
            "infrastructure": tuple(dict.fromkeys(text for run in runs for text in run.infrastructure)),
            "started": min(run.started for run in runs),
            "seconds": sum(run.seconds for run in runs),
            "patterns": tuple(dict.fromkeys(patterns)),
            "source_lines": dict(sorted((file, lines) for run in runs for file, lines in run.source_lines.items())),
        }
    )
    return Record.of(run, results.values(), launchers.values())


def _together(parts: Sequence[Sequence[KernelResult]]) -> dict[str, KernelResult]:
    """A row for each name of ``parts``: the one that says most."""
    found: dict[str, KernelResult] = {}
    for row in (row for part in parts for row in part):
        if row.name not in found or _says_more(row, found[row.name]):
            found[row.name] = row
    return found


def _says_more(row: KernelResult, other: KernelResult) -> bool:
    """A verdict says more than none, and why a selected kernel has none more than that it was not selected."""
    return row.status != "not_run" or (other.status == "not_run" and other.message is None)
