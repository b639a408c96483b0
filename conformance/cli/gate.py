"""The exit code of ``run``, ``replay`` and pytest: pure functions of the rows that were selected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.outcome import Status
from conformance.record import KernelResult

MET, NOT_MET, BAD_INPUT = 0, 1, 2
"""The last is the exit code of a run that judged nothing, too."""

FAILURES: tuple[Status, ...] = ("fail", "signature", "missing", "compile_error", "crash", "timeout")
"""Failures, but for those that the specs declare, which have a status of their own."""

_NAMED = 5


@dataclass(frozen=True)
class Decision:
    """The exit code; ``line`` is what the gate says on standard output (``None`` without a gate), ``why`` are the
    sentences for standard error."""

    code: int
    line: str | None = None
    why: tuple[str, ...] = ()


def decide(
    rows: Sequence[KernelResult],
    total: int,
    fail_under: float | None = None,
    strict: bool = False,
    specs: str = "",
    problems: Sequence[str] = (),
) -> Decision:
    """What the verdicts on the selected ``rows`` amount to, out of ``total`` kernels of the specs.

    A run that lost a kernel to something that is not its doing, or that judged nothing, is 2 whatever else holds. With
    ``fail_under`` the coverage in percent decides alone, compared unrounded; without it every selected kernel must have
    passed or have a declared failure. ``strict`` asks for both. ``specs`` follows the count of kernels where they are
    not the harness's own: `` of the given specs DIR``. ``problems`` are what the port declares and does not hold, a
    failure of the run each.
    """
    passed = sum(row.status == "pass" for row in rows)
    lost = _lost(rows)
    if lost is not None:
        line = None if fail_under is None else _line(passed, total, fail_under, specs, "not decided")
        return Decision(BAD_INPUT, line, (lost,))
    failed = [row for row in rows if row.status in FAILURES and row.known_reason is None]
    idle = [row for row in rows if row.status == "not_run"]
    clean = not failed and not idle and not problems
    why: tuple[str, ...] = (f"not judged: {_names(idle)} ({idle[0].message or 'no case was run'})",) if idle else ()
    why += tuple(problems)
    if fail_under is None:
        missing = [row for row in failed if row.status == "missing"]
        why += (f"defined in no source: {_names(missing)}",) if missing else ()
        return Decision(MET if clean else NOT_MET, None, why)
    reached = _reaches(passed, total, fail_under)
    met = reached and (clean or not strict)
    verdict = "met" if met else "NOT met"
    if reached and not met:
        count = len(failed) + len(idle)
        what = f"{count} of the selected kernels are not at parity" if count else "the port's declarations do not hold"
        verdict = f"NOT met: --strict, and {what}"
    return Decision(MET if met else NOT_MET, _line(passed, total, fail_under, specs, verdict), why)


def _lost(rows: Sequence[KernelResult]) -> str | None:
    """Why the run says nothing of the port, in a sentence; ``None`` where it does."""
    gone = [row for row in rows if row.lost]
    if gone:
        return f"{_names(gone)} could not be judged, which is not the kernels' doing: {gone[0].message}; run again"
    if not rows:
        return "no kernel was selected, so nothing was judged"
    if all(row.status == "missing" for row in rows):
        return (
            f"nothing was judged: the sources define none of the {len(rows)} selected kernels, such as {rows[0].name}; "
            "`candle-parity check` names near misses"
        )
    if all(row.status in ("missing", "not_run") for row in rows):
        idle = next(row for row in rows if row.status == "not_run")
        return f"nothing was judged: {idle.name}: {idle.message or 'no case was run'}"
    return None


def _reaches(passed: int, total: int, fail_under: float) -> bool:
    return total > 0 and 100 * passed / total >= fail_under


def _line(passed: int, total: int, fail_under: float, specs: str, verdict: str) -> str:
    """The coverage is rounded down, to as many digits as it takes to stand on the right side of the gate."""
    coverage = 100 * passed / total if total else 0.0
    for digits in range(2, 13):
        shown = math.floor(round(coverage * 10**digits, 3)) / 10**digits
        if (shown >= fail_under) == (coverage >= fail_under):
            break
    return f"coverage {shown:.{digits}f}% ({passed} of {total} kernels{specs}), gate {fail_under:.12g}%: {verdict}"


def _names(rows: Sequence[KernelResult]) -> str:
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row.name for row in rows[:_NAMED]) + more
