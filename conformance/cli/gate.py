"""The exit code of ``run``, ``replay`` and pytest: pure functions of the rows that were selected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.outcome import Status
from conformance.record import KernelResult
from conformance.record.compare import Comparison

MET, NOT_MET, BAD_INPUT = 0, 1, 2
"""The last is the exit code of a run that judged nothing, too."""

FAILURES: tuple[Status, ...] = ("fail", "signature", "missing", "compile_error", "crash", "timeout")
"""Failures, but for those that the specs declare, which have a status of their own."""

_NAMED = 5


@dataclass(frozen=True)
class Decision:
    """The exit code; ``line`` is what the gates say on standard output (``None`` without a gate), ``why`` are the
    sentences for standard error."""

    code: int
    line: str | None = None
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Against:
    """A baseline as a gate: its name, what became of it (``None``: there was none yet), and whether what became worse
    is ``accepted``."""

    name: str
    comparison: Comparison | None
    accepted: bool = False

    @property
    def why(self) -> str | None:
        """Why the gate is not met; ``None`` where it is."""
        count = 0 if self.comparison is None else len(self.comparison.worse)
        if not count or self.accepted:
            return None
        return f"{count} {'kernels are' if count > 1 else 'kernel is'} worse than in the baseline"


def decide(
    rows: Sequence[KernelResult],
    total: int,
    fail_under: float | None = None,
    strict: bool = False,
    specs: str = "",
    problems: Sequence[str] = (),
    against: Against | None = None,
    shard: str | None = None,
    undecided: str | None = None,
    spoiled: str | None = None,
) -> Decision:
    """What the verdicts on the selected ``rows`` amount to, out of ``total`` kernels of the specs.

    A run that lost a kernel to something that is not its doing, or that judged nothing, is 2 whatever else holds. With
    gates they decide alone: ``fail_under``, the coverage in percent, compared unrounded, and ``against``, a baseline
    from which nothing may have become worse; with both, both have to be met. Without a gate every selected kernel must
    have passed or have a declared failure. ``strict`` asks for that too. ``specs`` follows the count of kernels where
    they are not the harness's own: `` of the given specs DIR``. ``problems`` are what the port declares and does not
    hold, a failure of the run each.

    Of a ``shard`` no gate decides: they are for all shards together. ``undecided`` says what makes the exit code 2
    besides, and ``spoiled`` what no gate makes up for.
    """
    passed = sum(row.status == "pass" for row in rows)
    gates = _gates(passed, total, fail_under, specs, against)
    lost = _lost(rows, shard)
    found = None if against is None or shard is not None else against.comparison
    if lost is None and against is not None and found is not None and not found.compared:
        lost = f"{against.name} and this run have a verdict on no kernel in common, so nothing was compared"
    if lost is not None or undecided is not None:
        line = None if gates is None else f"{gates}: not decided" + (f": {undecided}" if undecided else "")
        return Decision(BAD_INPUT, line, () if lost is None else (lost,))
    failed = [row for row in rows if row.status in FAILURES and row.known_reason is None]
    idle = [row for row in rows if row.status == "not_run"]
    clean = not failed and not idle and not problems
    why: tuple[str, ...] = (f"not judged: {_names(idle)} ({idle[0].message or 'no case was run'})",) if idle else ()
    why += tuple(problems)
    if gates is None:
        missing = [row for row in failed if row.status == "missing"]
        why += (f"defined in no source: {_names(missing)}",) if missing else ()
        return Decision(MET if clean else NOT_MET, None, why)
    unclean = None
    if strict and not clean:
        count = len(failed) + len(idle)
        what = f"{count} of the selected kernels are not at parity" if count else "the port's declarations do not hold"
        unclean = f"--strict, and {what}"
    if shard is not None:
        line = f"shard {shard}: gates are for all shards together: candle-parity report SHARD... with the same options"
        return Decision(NOT_MET if unclean else MET, line + (f"; here NOT met: {unclean}" if unclean else ""), why)
    too_low = fail_under is not None and not _reaches(passed, total, fail_under)
    reasons = [
        "the coverage is below the gate" if too_low and against is not None else None,
        None if against is None else against.why,
        None if too_low else unclean,
        spoiled,
    ]
    named = [reason for reason in reasons if reason]
    met = not too_low and not named
    verdict = "met" if met else ": ".join(["NOT met", *(["; ".join(named)] if named else [])])
    return Decision(MET if met else NOT_MET, f"{gates}: {verdict}", why)


def _gates(passed: int, total: int, fail_under: float | None, specs: str, against: Against | None) -> str | None:
    """What the gates ask for and what there is, without the verdict; ``None`` where there is no gate."""
    parts = [] if fail_under is None else [_coverage(passed, total, fail_under, specs)]
    if against is not None:
        found = against.comparison
        counts = "none yet, so nothing was compared"
        if found is not None:
            counts = f"{len(found.worse)} worse and {len(found.better)} better of {found.compared} kernels compared"
        parts.append(f"baseline {against.name}: {counts}")
    return "; ".join(parts) or None


def _lost(rows: Sequence[KernelResult], shard: str | None) -> str | None:
    """Why the run says nothing of the port, in a sentence; ``None`` where it does. A shard may lie in a part of the
    kernels that the port does not have."""
    gone = [row for row in rows if row.lost]
    if gone:
        return f"{_names(gone)} could not be judged, which is not the kernels' doing: {gone[0].message}; run again"
    if not rows:
        return "no kernel was selected, so nothing was judged"
    if shard is None and all(row.status == "missing" for row in rows):
        return (
            f"nothing was judged: the sources define none of the {len(rows)} selected kernels, such as {rows[0].name}; "
            "`candle-parity check` names near misses"
        )
    if all(row.status in ("missing", "not_run") for row in rows) and any(row.status == "not_run" for row in rows):
        idle = next(row for row in rows if row.status == "not_run")
        return f"nothing was judged: {idle.name}: {idle.message or 'no case was run'}"
    return None


def _reaches(passed: int, total: int, fail_under: float) -> bool:
    return total > 0 and 100 * passed / total >= fail_under


def _coverage(passed: int, total: int, fail_under: float, specs: str) -> str:
    """The coverage is rounded down, to as many digits as it takes to stand on the right side of the gate."""
    coverage = 100 * passed / total if total else 0.0
    for digits in range(2, 13):
        shown = math.floor(round(coverage * 10**digits, 3)) / 10**digits
        if (shown >= fail_under) == (coverage >= fail_under):
            break
    return f"coverage {shown:.{digits}f}% ({passed} of {total} kernels{specs}), gate {fail_under:.12g}%"


def _names(rows: Sequence[KernelResult]) -> str:
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row.name for row in rows[:_NAMED]) + more
