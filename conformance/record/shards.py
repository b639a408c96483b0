"""The shards of one run (``run --shard I/N``) joined into its record, with a gap where one is missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from conformance.record.compare import same_rows
from conformance.record.identity import judged_alike, of_one_run
from conformance.record.model import KernelResult, Record

_IN = "in shard "
_NAMED = 3


def elsewhere(shard: str) -> str:
    """The message of a kernel that another shard judges."""
    return f"{_IN}{shard}"


def is_of_other_shard(row: KernelResult) -> bool:
    """Whether ``row`` of a shard's record is of a kernel that it leaves to another."""
    return row.status == "not_run" and (row.message or "").startswith(_IN)


def is_shard(record: Record) -> bool:
    """Whether the record is of one of several shards."""
    index, _, of = (record.run.shard or "").partition("/")
    plain = all(part.isascii() and part.isdecimal() and len(part) < 6 for part in (index, of))
    return plain and 1 <= int(index) <= int(of)


def join_shards(records: Sequence[Record]) -> list[Record]:
    """A record for each run that ``records``, all of shards, are parts of.

    Shards of one run have the same number of shards, selection, sources, specs, options and runtime; they may be of
    several hosts. A shard that is given again counts once where the verdicts are the same, and begins another run where
    they are not, so that no result hides another. The joined record is that of a run without shards, apart from times;
    where a shard is missing, its kernels have no verdict and ``missing_shards`` names it.
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
    """Sentences about kernels on which records of the same sources and the same kind of device disagree."""
    found: dict[tuple[Hashable, str], tuple[Record, KernelResult]] = {}
    pairs: dict[tuple[int, int], tuple[Record, Record, list[str]]] = {}
    for record in records:
        key = judged_alike(record.run), record.run.declared, record.run.patterns
        for row in (*record.kernels, *record.launchers):
            if row.status == "not_run":
                continue
            first, other = found.setdefault((key, row.name), (record, row))
            if (other.status, other.failed) != (row.status, row.failed):
                said = pairs.setdefault((id(first), id(record)), (first, record, []))[2]
                said.append(f"{row.name} ({_verdict(other)} and {_verdict(row)})")
    return [
        f"the records of {_called(first)} and {_called(second)} are of the same sources and contradict each other in "
        f"{len(names)} {'kernels' if len(names) > 1 else 'kernel'}: {', '.join(names[:_NAMED])}"
        f"{' ...' if len(names) > _NAMED else ''}"
        for first, second, names in pairs.values()
    ]


def gaps(records: Iterable[Record]) -> list[str]:
    """Sentences about the shards that joined records lack."""
    return [_sentence(record, shard) for record in records for shard in record.run.missing_shards]


def _sentence(record: Record, shard: str) -> str:
    count, called = (sum(row.message == _gap(shard) for row in rows) for rows in (record.kernels, record.launchers))
    also = f" and {called} launchers" if called else ""
    return f"shard {shard} is missing: {count} selected kernels{also} have no verdict; give its record too"


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
    return of_one_run(run), run.declared, run.patterns, run.config, _of(record), frozenset(_partition(record))


def _partition(record: Record) -> Mapping[str, str]:
    """The shard of every kernel that the run selected."""
    mine, rows = record.run.shard or "", (*record.kernels, *record.launchers)
    others = {row.name: row.message.removeprefix(_IN) for row in rows if _is_elsewhere(row) and row.message}
    judged = {row.name: mine for row in rows if row.status != "not_run" or _is_own(row)}
    return others | judged


def _is_elsewhere(row: KernelResult) -> bool:
    return row.status == "not_run" and (row.message or "").startswith(_IN)


def _is_own(row: KernelResult) -> bool:
    """Whether a kernel without a verdict was selected in this shard."""
    return row.message is not None and not _is_elsewhere(row)


def _of(record: Record) -> str:
    return (record.run.shard or "").rpartition("/")[2]


def _joined(parts: Mapping[str, Record]) -> Record:
    first = next(iter(parts.values()))
    partition, of = _partition(first), _of(first)
    missing = tuple(shard for shard in (f"{n + 1}/{of}" for n in range(int(of))) if shard not in parts)
    rows = {shard: {row.name: row for row in (*record.kernels, *record.launchers)} for shard, record in parts.items()}

    def settled(row: KernelResult) -> KernelResult:
        shard = partition.get(row.name)
        if shard is None:
            return row
        return rows[shard][row.name] if shard in rows else row.model_copy(update={"message": _gap(shard)})

    kernels = [settled(row) for row in first.kernels]
    runs = [parts[shard].run for shard in sorted(parts, key=lambda shard: int(shard.partition("/")[0]))]
    lines = {file: count for run in runs for file, count in run.source_lines.items()}
    run = runs[0].model_copy(
        update={
            "shard": None,
            "missing_shards": missing,
            "selected": sum(row.name in partition for row in first.kernels),
            "complete": not missing and all(run.complete for run in runs),
            "infrastructure": tuple(dict.fromkeys(text for run in runs for text in run.infrastructure)),
            "started": min(run.started for run in runs),
            "seconds": round(sum(run.seconds for run in runs), 3),
            "device": "; ".join(dict.fromkeys(run.device for run in runs)),
            "host": "; ".join(dict.fromkeys(run.host for run in runs if run.host)) or None,
            "source_lines": dict(sorted(lines.items())),
        }
    )
    launchers = {row.name: settled(row) for record in parts.values() for row in record.launchers}
    return Record.of(run, kernels, launchers.values())
