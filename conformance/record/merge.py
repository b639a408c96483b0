"""Brings several records together: shards into one run, builds into the runs of the same sources.

A shard is a part of one run: of ``run --shard I/N``, on whatever machine, or of other kernels on the same machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from conformance.outcome import KernelResult
from conformance.port.config import OPTIONS_FILE
from conformance.record.compare import same_rows
from conformance.record.model import BUILD, INTERRUPTED, Record, RunInfo
from conformance.spec.entry import ENTRIES
from conformance.writing import FileError

_IN = "in shard "
_NAMED = 3


def merge(records: Sequence[Record]) -> list[Record]:
    """One record for each run that ``records`` are parts of, in the order in which the runs first appear.

    Two records are parts of one run if the device, the host, what ``of_one_run`` holds and the port's declarations are
    the same, and no kernel was judged in both. If one was, they stay apart, so that no result hides another. The merged
    run starts when the earliest part did, and its seconds are the sum. Records of ``run --shard`` are joined by
    ``join_shards``.

    A record of ``build`` is no run. It is added to every run of the same sources, specs and declarations, whose kernels
    then say what they compile for. It stays alone where there is no run of its kernels path. Raises ``FileError`` where
    there is one, of other sources or declarations.
    """
    runs = _runs(_with_shards_joined([record for record in records if record.run.runtime != BUILD]))
    builds = _builds([record for record in records if record.run.runtime == BUILD])
    alone = []
    for build in builds:
        same = [run for run in runs if _agree(run.run.specs_digest, build.run.specs_digest)]
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
    """A sentence for each of ``records`` that would be part of an earlier one's run, had the port not changed its
    declarations."""
    runs = [record for record in records if record.run.runtime != BUILD]
    sentences: list[str] = []
    for number, record in enumerate(runs):
        others = [one for one in runs[:number] if _machine(one) == _machine(record)]
        others = [one for one in others if _judged(one).isdisjoint(_judged(record))]
        if others and all(one.run.declared != record.run.declared for one in others):
            sentences.append(
                f"the runs of {record.run.kernels} at {others[0].run.started} and at {record.run.started} were made "
                f"with different declarations ({OPTIONS_FILE}) and are reported apart; to merge them, run one again"
            )
    return sentences


def _with_shards_joined(records: Sequence[Record]) -> list[Record]:
    """``records`` with the joined ones in the place of the first shard."""
    joined = join_shards(list(filter(is_shard, records)))
    place = next((index for index, record in enumerate(records) if is_shard(record)), len(records))
    whole = [[record for record in part if not is_shard(record)] for part in (records[:place], records[place:])]
    return [*whole[0], *joined, *whole[1]]


def _agree(one: str | None, other: str | None) -> bool:
    """Whether nothing says that two digests are of different things; older records have none."""
    return None in (one, other) or one == other


def _builds(records: Sequence[Record]) -> list[Record]:
    """One record per kernels path and content, with the targets of all; the latest build of a target counts."""
    builds: dict[Hashable, Record] = {}
    for record in sorted(records, key=lambda item: item.run.started):
        run = record.run
        key = (run.kernels, run.sources, run.upstream_commit, run.specs_digest, run.declared)
        builds[key] = _with_build(builds[key], record) if key in builds else record
    return list(builds.values())


def _with_build(record: Record, build: Record) -> Record:
    """``record`` with the targets of ``build``; earlier entries of such a target are dropped."""
    targets = build.run.builds.keys()
    compiled = {kernel.name: kernel.compiles_for for kernel in (*build.kernels, *build.own)}

    def with_targets(kernel: KernelResult) -> KernelResult:
        kept = {target: build for target, build in kernel.compiles_for.items() if target not in targets}
        return kernel.model_copy(update={"compiles_for": {**kept, **compiled.get(kernel.name, {})}})

    builds = {**record.run.builds, **build.run.builds}
    run = record.run.model_copy(update={"builds": builds})
    return record.with_parts({"kernel": map(with_targets, record.kernels), "own": map(with_targets, record.own)}, run)


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
    return [group[0] if len(group) == 1 else _merged(group) for group in groups]


def _judged(record: Record) -> set[str]:
    return {row.name for row in record.rows if row.status != "not_run"}


def _machine(record: Record) -> Hashable:
    """All that parts of one run have in common on one machine, but for what the port declares."""
    run = record.run
    gap = id(record) if run.missing_shards else None  # a run with a gap is not filled up from another
    return run.of_one_run, run.device, run.host, gap


def _merged(parts: Sequence[Record]) -> Record:
    together = {entry: _together([part.rows_of(entry) for part in parts]) for entry in ENTRIES}
    results = together["kernel"]
    runs = [part.run for part in parts]
    # A part without patterns covered everything, so the whole did.
    patterns = () if any(not run.patterns for run in runs) else tuple(p for run in runs for p in run.patterns)
    counts = [run.selected for run in runs if run.selected is not None]
    judged = sum(row.status != "not_run" for row in results.values())
    selected = min(sum(counts), len(results)) if len(counts) == len(runs) else None
    stopped = any((row.message or "").startswith(INTERRUPTED) for rows in together.values() for row in rows.values())
    run = runs[0].model_copy(
        update={
            **_of_all(runs),
            "selected": selected,
            "complete": all(run.complete for run in runs) or (judged == selected and not stopped),
            "patterns": tuple(dict.fromkeys(patterns)),
        }
    )
    return Record.of_parts(run, {entry: rows.values() for entry, rows in together.items()})


def _of_all(runs: Sequence[RunInfo]) -> dict[str, Any]:
    """What ``runs`` come to together, as fields of ``RunInfo``."""
    return {
        "run_id": runs[0].run_id if len({run.run_id for run in runs}) == 1 else None,
        "infrastructure": tuple(dict.fromkeys(text for run in runs for text in run.infrastructure)),
        "declared_settings": tuple(
            name for name in runs[0].declared_settings if all(name in run.declared_settings for run in runs)
        ),
        "started": min(run.started for run in runs),
        "seconds": sum(run.seconds for run in runs),
        "source_lines": dict(sorted({file: n for run in runs for file, n in run.source_lines.items()}.items())),
    }


def _together(parts: Sequence[Sequence[KernelResult]]) -> dict[str, KernelResult]:
    """A row for each name of ``parts``: the one that says most."""
    rows: dict[str, KernelResult] = {}
    for row in (row for part in parts for row in part):
        if row.name not in rows or _says_more(row, rows[row.name]):
            rows[row.name] = row
    return rows


def _says_more(row: KernelResult, other: KernelResult) -> bool:
    """A verdict says more than none, and why a selected kernel has none more than that it was not selected."""
    return row.status != "not_run" or (other.status == "not_run" and other.message is None)


# ---- run --shard


def elsewhere(shard: str) -> str:
    """The message of a kernel that the shard ``shard`` (``3/4``) judges."""
    return f"{_IN}{shard}"


def is_of_other_shard(row: KernelResult) -> bool:
    """Whether ``row``, of a shard's record, is of a kernel that another shard judges."""
    return row.status == "not_run" and (row.message or "").startswith(_IN)


def is_shard(record: Record) -> bool:
    """Whether the record is of one shard of a run."""
    index, _, of = (record.run.shard or "").partition("/")
    plain = all(part.isascii() and part.isdecimal() and len(part) < 6 for part in (index, of))
    return plain and 1 <= int(index) <= int(of)


def join_shards(records: Sequence[Record]) -> list[Record]:
    """One record for each run of which ``records``, all of shards, are parts.

    Shards are of one run if their number, selection, sources, specs, options and runtime are the same. They may be of
    several hosts. A shard that is there twice counts once if the verdicts are the same. If they differ, it begins
    another run, so that no result hides another. The joined record is the one that a run without shards would have,
    apart from times. If a shard is missing, its kernels have no verdict, and ``missing_shards`` names it.
    """
    runs: list[tuple[Hashable, dict[str, Record]]] = []
    for record in records:
        key, shard = _run_of(record), record.run.shard or ""
        for other, parts in runs:
            if other == key and (shard not in parts or same_rows(parts[shard], record)):
                parts.setdefault(shard, record)
                break
        else:
            runs.append((key, {shard: record}))
    return [_joined(parts) for _, parts in runs]


def contradictions(records: Iterable[Record]) -> list[str]:
    """Sentences about kernels that have different verdicts in records of the same sources and the same kind of
    device."""
    verdicts: dict[tuple[Hashable, str], tuple[Record, KernelResult]] = {}
    pairs: dict[tuple[int, int], tuple[Record, Record, list[str]]] = {}
    for record in records:
        key = record.run.judged_alike, record.run.declared, record.run.patterns
        for row in record.rows:
            if row.status == "not_run":
                continue
            first, other = verdicts.setdefault((key, row.name), (record, row))
            if (other.status, other.failed) != (row.status, row.failed):
                names = pairs.setdefault((id(first), id(record)), (first, record, []))[2]
                names.append(f"{row.name} ({_verdict(other)} and {_verdict(row)})")
    return [
        f"the records of {_called(first)} and {_called(second)} are of the same sources and contradict each other in "
        f"{len(names)} {'kernels' if len(names) > 1 else 'kernel'}: {', '.join(names[:_NAMED])}"
        f"{' ...' if len(names) > _NAMED else ''}"
        for first, second, names in pairs.values()
    ]


def gaps(records: Iterable[Record]) -> list[str]:
    """Sentences about the shards that are missing from joined records."""
    return [_sentence(record, shard) for record in records for shard in record.run.missing_shards]


def _sentence(record: Record, shard: str) -> str:
    count, called = (sum(row.message == _gap(shard) for row in rows) for rows in (record.kernels, record.launchers))
    also = f" and {called} launchers" if called else ""
    return f"{_gap(shard)}: {count} selected kernels{also} have no verdict; give its record too"


def _gap(shard: str) -> str:
    return f"shard {shard} is missing"


def _verdict(row: KernelResult) -> str:
    return row.status if row.status == "pass" else f"{row.status}, {row.counts}"


def _called(record: Record) -> str:
    run = record.run
    return run.started + (f", shard {run.shard}" if run.shard else "")


def _run_of(record: Record) -> Hashable:
    """What shards of one run have in common."""
    run = record.run
    return run.of_one_run, run.declared, run.patterns, run.config, _of(record), frozenset(_partition(record))


def _partition(record: Record) -> Mapping[str, str]:
    """The shard of every kernel that the run selected."""
    mine, rows = record.run.shard or "", record.rows
    others = {row.name: row.message.removeprefix(_IN) for row in rows if is_of_other_shard(row) and row.message}
    judged = {row.name: mine for row in rows if row.status != "not_run" or _is_own(row)}
    return others | judged


def _is_own(row: KernelResult) -> bool:
    """Whether a kernel without a verdict was selected in this shard."""
    return row.message is not None and not is_of_other_shard(row)


def _of(record: Record) -> str:
    return (record.run.shard or "").rpartition("/")[2]


def _joined(parts: Mapping[str, Record]) -> Record:
    first = next(iter(parts.values()))
    partition, of = _partition(first), _of(first)
    missing = tuple(shard for shard in (f"{n + 1}/{of}" for n in range(int(of))) if shard not in parts)
    rows = {shard: {row.name: row for row in record.rows} for shard, record in parts.items()}

    def settled(row: KernelResult) -> KernelResult:
        shard = partition.get(row.name)
        if shard is None:
            return row
        return rows[shard][row.name] if shard in rows else row.model_copy(update={"message": _gap(shard)})

    together = {
        entry: {row.name: settled(row) for record in parts.values() for row in record.rows_of(entry)}
        for entry in ENTRIES
    }
    runs = [parts[shard].run for shard in sorted(parts, key=lambda shard: int(shard.partition("/")[0]))]
    everything = _of_all(runs)
    run = runs[0].model_copy(
        update={
            **everything,
            "shard": None,
            "missing_shards": missing,
            "selected": sum(row.name in partition for row in first.kernels),
            "complete": not missing and all(run.complete for run in runs),
            "seconds": round(everything["seconds"], 3),
            "device": "; ".join(dict.fromkeys(run.device for run in runs)),
            "host": "; ".join(dict.fromkeys(run.host for run in runs if run.host)) or None,
        }
    )
    return Record.of_parts(run, {entry: rows.values() for entry, rows in together.items()})
