"""The exit code of ``run``, ``replay`` and pytest: pure functions of the rows that were selected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.outcome import Status
from conformance.record import KernelResult
from conformance.record.compare import Changed, Comparison

MET, NOT_MET, BAD_INPUT = 0, 1, 2
"""The last is the exit code of a run that judged nothing, too."""

FAILURES: tuple[Status, ...] = ("fail", "signature", "missing", "compile_error", "crash", "timeout")
"""Failures, but for those that the specs declare, which have a status of their own."""

_NAMED = 5


@dataclass(frozen=True)
class Launchers:
    """The launchers of a run, which have gates of their own: the ``rows`` that were selected out of ``total``, and the
    percentage that has to be at parity (``None``: that is not asked for)."""

    rows: Sequence[KernelResult] = ()
    total: int = 0
    fail_under: float | None = None

    @property
    def line(self) -> str | None:
        """What the gate asks for and what there is, without the verdict; ``None`` without a gate."""
        if self.fail_under is None:
            return None
        return f"launchers {_share(self._passed, self.total, self.fail_under)}, gate {self.fail_under:.12g}%"

    @property
    def too_low(self) -> bool:
        """Whether there is a gate that is not reached."""
        return self.fail_under is not None and not _reaches(self._passed, self.total, self.fail_under)

    @property
    def _passed(self) -> int:
        return sum(row.status == "pass" for row in self.rows)


NO_LAUNCHERS = Launchers()


@dataclass(frozen=True)
class Decision:
    """The exit code; ``line`` is what the gates say on standard output (``None`` without a gate), ``launchers`` what
    the gate of the launchers says, ``why`` are the sentences for standard error."""

    code: int
    line: str | None = None
    why: tuple[str, ...] = ()
    launchers: str | None = None

    @property
    def lines(self) -> list[str]:
        """What is said on standard output."""
        return [line for line in (self.line, self.launchers) if line is not None]


@dataclass(frozen=True)
class Against:
    """A baseline as a gate: its name, and what became of it (``None``: there was none yet)."""

    name: str
    comparison: Comparison | None

    @property
    def why(self) -> str | None:
        """Why the gate is not met; ``None`` where it is. A launcher that became worse counts like a kernel."""
        if self.comparison is None:
            return None
        parts = ((len(self.comparison.worse), "kernel"), (len(self.comparison.launchers.worse), "launcher"))
        named = [f"{count} {what}{'s' if count > 1 else ''}" for count, what in parts if count]
        if not named:
            return None
        many = len(named) > 1 or not named[0].startswith("1 ")
        return f"{' and '.join(named)} {'are' if many else 'is'} worse than in the baseline"


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
    launchers: Launchers = NO_LAUNCHERS,
) -> Decision:
    """What the verdicts on the selected ``rows`` amount to, out of ``total`` kernels of the specs.

    A run that lost a kernel to something that is not its doing, or that judged nothing, is 2 whatever else holds. With
    gates they decide alone: ``fail_under``, the coverage in percent, compared unrounded, and ``against``, a baseline
    from which nothing may have become worse; with both, both have to be met. Without a gate every selected kernel must
    have passed or have a declared failure. ``strict`` asks for that too. ``specs`` follows the count of kernels where
    they are not the harness's own: `` of the given specs DIR``. ``problems`` are what the port declares and does not
    hold, a failure of the run each.

    ``launchers`` have a gate of their own, and no part in ``fail_under``. Without a gate, and with ``strict``, one that
    was put on trial and failed is a failure too; one that no source defines is none, unless launchers alone were
    selected.

    Of a ``shard`` no gate decides: they are for all shards together. ``undecided`` says what makes the exit code 2
    besides, and ``spoiled`` what no gate makes up for.
    """
    passed = sum(row.status == "pass" for row in rows)
    gates = _gates(passed, total, fail_under, specs, against)
    gated = gates is not None or launchers.fail_under is not None
    alone = not rows
    lost = _lost(rows, launchers.rows, shard, alone or not gated or launchers.fail_under is not None)
    found = None if against is None or shard is not None else against.comparison
    if lost is None and against is not None and found and not found.compared and not found.launchers.compared:
        lost = f"{against.name} and this run have a verdict on no kernel in common, so nothing was compared"
    if lost is not None or undecided is not None:
        open_ = "not decided" + (f": {undecided}" if undecided else "")
        line, own = (None if text is None else f"{text}: {open_}" for text in (gates, launchers.line))
        return Decision(BAD_INPUT, line, () if lost is None else (lost,), own)
    called = [row for row in launchers.rows if alone or row.status not in ("missing", "not_run")]
    failed = [row for row in (*rows, *called) if row.status in FAILURES and row.known_reason is None]
    idle = [row for row in (*rows, *called) if row.status == "not_run"]
    clean = not failed and not idle and not problems
    why: tuple[str, ...] = (f"not judged: {_names(idle)} ({idle[0].message or 'no case was run'})",) if idle else ()
    why += tuple(problems)
    missing = [row for row in failed if row.status == "missing"]
    if not gated:
        why += (f"defined in no source: {_names(missing)}",) if missing else ()
        return Decision(MET if clean else NOT_MET, None, why)
    unclean = None
    if strict and not clean:
        bad = {row.name for row in (*failed, *idle)}
        parts = (("kernels", rows), ("launchers", called))
        kinds = " and ".join(word for word, part in parts if any(row.name in bad for row in part))
        what = f"{len(bad)} of the selected {kinds} are not at parity" if bad else "the port's declarations do not hold"
        unclean = f"--strict, and {what}"
    if shard is not None:
        line = f"shard {shard}: gates are for all shards together: candle-parity report SHARD... with the same options"
        return Decision(NOT_MET if unclean else MET, line + (f"; here NOT met: {unclean}" if unclean else ""), why)
    own = None if launchers.line is None else f"{launchers.line}: {'NOT met' if launchers.too_low else 'met'}"
    if gates is None:
        unmet = "; ".join(filter(None, (unclean, spoiled)))
        own = f"{own}; NOT met: {unmet}" if unmet else own
        return Decision(NOT_MET if launchers.too_low or unmet else MET, None, why, own)
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
    return Decision(MET if met and not launchers.too_low else NOT_MET, f"{gates}: {verdict}", why, own)


def _gates(passed: int, total: int, fail_under: float | None, specs: str, against: Against | None) -> str | None:
    """What the gates ask for and what there is, without the verdict; ``None`` where there is no gate."""
    parts = [] if fail_under is None else [_coverage(passed, total, fail_under, specs)]
    if against is not None:
        found = against.comparison
        counts = "none yet, so nothing was compared"
        if found is not None:
            counts = _compared(found, "kernels")
            counts += f", {_compared(found.launchers, 'launchers')}" if found.launchers.compared else ""
        parts.append(f"baseline {against.name}: {counts}")
    return "; ".join(parts) or None


def _compared(found: Changed, what: str) -> str:
    return f"{len(found.worse)} worse and {len(found.better)} better of {found.compared} {what} compared"


def _lost(
    rows: Sequence[KernelResult], launchers: Sequence[KernelResult], shard: str | None, counted: bool
) -> str | None:
    """Why the run says nothing of the port, in a sentence; ``None`` where it does. A shard may lie in a part of the
    kernels that the port does not have. A lost launcher counts where launchers are ``counted``."""
    every = [*rows, *launchers]
    gone = [row for row in (every if counted else rows) if row.lost]
    if gone:
        whose = "kernels'" if any(row.lost for row in rows) else "launchers'"
        return f"{_names(gone)} could not be judged, which is not the {whose} doing: {gone[0].message}; run again"
    if not every:
        return "no kernel was selected, so nothing was judged"
    if shard is None and all(row.status == "missing" for row in every):
        what = "kernels" if rows else "launchers"
        return (
            f"nothing was judged: the sources define none of the {len(rows or every)} selected {what}, such as "
            f"{every[0].name}; `candle-parity check` names near misses"
        )
    if all(row.status in ("missing", "not_run") for row in every) and any(row.status == "not_run" for row in every):
        idle = next(row for row in every if row.status == "not_run")
        return f"nothing was judged: {idle.name}: {idle.message or 'no case was run'}"
    return None


def _reaches(passed: int, total: int, fail_under: float) -> bool:
    return total > 0 and 100 * passed / total >= fail_under


def _coverage(passed: int, total: int, fail_under: float, specs: str) -> str:
    return f"coverage {_share(passed, total, fail_under, f' kernels{specs}')}, gate {fail_under:.12g}%"


def _share(passed: int, total: int, fail_under: float, what: str = "") -> str:
    """The percentage is rounded down, to as many digits as it takes to stand on the right side of the gate."""
    coverage = 100 * passed / total if total else 0.0
    for digits in range(2, 13):
        shown = math.floor(round(coverage * 10**digits, 3)) / 10**digits
        if (shown >= fail_under) == (coverage >= fail_under):
            break
    return f"{shown:.{digits}f}% ({passed} of {total}{what})"


def _names(rows: Sequence[KernelResult]) -> str:
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row.name for row in rows[:_NAMED]) + more
