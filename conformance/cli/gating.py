"""The gates of a run: what the command line and ``candle-parity.toml`` ask for, and the baseline on disk."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.cli.gate import BAD_INPUT, Against, Decision, Launchers, decide
from conformance.cli.usage import UsageError
from conformance.port.config import Config, Gate
from conformance.record import FileError, KernelResult, Record, RunInfo, read_record, write_record
from conformance.record.assemble import shown
from conformance.record.compare import compare, same_verdicts
from conformance.record.model import BUILD
from conformance.report.comparison import render_changes
from conformance.report.runs import given_specs
from conformance.spec.load import Specs
from conformance.text import one_line


@dataclass(frozen=True)
class Gating:
    """What a run has to come to. ``standing`` is the baseline as it was when the run began (``None``: there is none
    yet); with ``update`` a new one is written, unless something became worse."""

    fail_under: float | None = None
    strict: bool = False
    baseline: Path | None = None
    standing: Record | None = None
    update: bool = False
    shard: str | None = None
    launchers: float | None = None
    """The percentage of launchers that have to be at parity, where that is asked for: a gate of its own."""

    @property
    def asked(self) -> bool:
        """Whether there is anything to decide by: a gate, or ``strict``."""
        return self.fail_under is not None or self.baseline is not None or self.strict or self.launchers is not None

    def against(self, record: Record) -> Against | None:
        """The baseline as a gate for ``record``; ``None`` without one."""
        if self.baseline is None:
            return None
        found = None if self.standing is None else compare(self.standing, record)
        return Against(shown(self.baseline), found)


def gating_from(options: Any, config: Config | None = None, whole: bool = True, recorded: bool = False) -> Gating:
    """The gates that ``options`` ask for, else the file of the port.

    ``fail_under`` of a file is for runs of every kernel: ``whole`` says that this is one. Its baseline is for ``run``:
    ``recorded`` says that the cases are those of ``replay``. Raises ``UsageError`` for options that do not go together
    and for a baseline that is not there or is not the record of a run.
    """
    asked = Gate() if config is None else config.gate
    strict, launchers = options.strict, getattr(options, "fail_under_launchers", None)
    fail_under = options.fail_under
    of_file = ((fail_under, asked.fail_under), (launchers, asked.fail_under_launchers))
    fail_under, launchers = (mine if mine is not None else theirs if whole else None for mine, theirs in of_file)
    if not whole and config is not None and any(mine is None and theirs is not None for mine, theirs in of_file):
        print(f"candle-parity: fail_under of {config.file} is for runs of every kernel; not asked", file=sys.stderr)
    baseline: Path | None = options.baseline or (None if recorded else asked.baseline)
    update = getattr(options, "update_baseline", False)
    shard = getattr(options, "shard", None)
    if update and baseline is None:
        raise UsageError("--update-baseline: name the file with --baseline RECORD, or in candle-parity.toml")
    if update and shard is not None:
        raise UsageError("--update-baseline: a shard is a part of a run; give it to `report` with all the shards")
    gating = Gating(
        fail_under,
        bool(asked.strict if strict is None else strict),
        baseline,
        None,
        update,
        shard and str(shard),
        launchers,
    )
    if baseline is None or shard is not None or (update and not baseline.exists()):
        return gating
    return replace(gating, standing=_standing(baseline))


def _standing(path: Path) -> Record:
    if not path.exists():
        raise UsageError(f"{path}: there is no such baseline; --update-baseline writes it")
    record = read_record(path)
    if record.run.runtime == BUILD:
        raise UsageError(f"{path}: a build has no verdicts to be a baseline; give what `run --json` wrote")
    return record


def conclude(
    gating: Gating,
    record: Record,
    rows: Sequence[KernelResult],
    specs: Specs,
    problems: Sequence[str] = (),
    undecided: str | None = None,
) -> int:
    """Print what the gates say of ``rows``, the kernels and launchers of ``record`` that were selected, and why; the
    exit code.

    A new baseline is written before, where that is asked for: what keeps it from being written makes the code 2, but
    for kernels that became worse. ``problems`` and ``undecided`` are as for ``decide``.
    """
    against = gating.against(record)
    total, given = len(specs.kernels), given_specs(record.run, specs)

    kernels = [row for row in rows if row.name not in specs.launchers]
    called = [row for row in rows if row.name in specs.launchers]
    launchers = Launchers(called, len(specs.launchers), gating.launchers)

    def decided(undecided: str | None) -> Decision:
        return decide(
            kernels,
            total,
            gating.fail_under,
            gating.strict,
            given,
            problems,
            against,
            gating.shard,
            undecided=undecided,
            launchers=launchers,
        )

    if against is not None and against.comparison is not None and undecided is None:
        undecided = _incomparable(against.comparison.old.run, record.run)
    decision = decided(undecided)
    changes = [] if against is None or against.comparison is None else render_changes(against.comparison)
    if changes:
        print("\n".join([*changes, ""]))
    if gating.update and against is not None and decision.code != BAD_INPUT:
        why = _update(gating, against, record)
        if why is not None and against.why is None:
            decision = decided(f"{against.name} stays as it is: {why}")
        elif why is not None:
            print(f"candle-parity: {against.name} stays as it is: {why}", file=sys.stderr)
    for line in decision.lines:
        print(line)
    for sentence in decision.why:
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    return decision.code


def _incomparable(old: RunInfo, new: RunInfo) -> str | None:
    """Why verdicts of the two say nothing of each other: cases that were made are not those that were recorded."""
    if (old.subject, old.traces is None) == (new.subject, new.traces is None):
        return None
    return "the baseline has other cases: one is of `run`, the other of `replay`, or of the reference"


def _update(gating: Gating, against: Against, record: Record) -> str | None:
    """Write ``record`` as the new baseline; why it is not written, in words, or ``None``."""
    assert gating.baseline is not None
    refused = _refused(against)
    if refused is not None:
        return refused
    if gating.standing is not None and same_verdicts(gating.standing, record):
        print(f"baseline {against.name}: nothing to write, the verdicts are the same")
        return None
    try:
        write_record(record, gating.baseline)
    except FileError as error:
        return str(error)
    print(f"baseline {against.name}: written")
    return None


def _refused(against: Against) -> str | None:
    """Why a new baseline is not written, in words."""
    found = against.comparison
    if found is None:
        return None
    if not found.same_place:
        return "it was judged in another way or on another device; remove it to begin with this run"
    if found.unjudged:
        return f"it has verdicts on {len(found.unjudged)} kernels that were not judged here; run every kernel"
    if found.launchers.unjudged:
        return f"it has verdicts on {len(found.launchers.unjudged)} launchers that were not judged here; run them too"
    return None if against.why is None else f"{against.why}; delete it to begin with this run"
