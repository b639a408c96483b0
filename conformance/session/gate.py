"""The gates of ``run``, ``replay``, ``report`` and pytest: what was asked for, what they decide, and the exit code."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.errors import UsageError
from conformance.option import Shard
from conformance.port.config import Config
from conformance.record import FileError, KernelResult, Record, RunInfo, read_record, write_record
from conformance.record.assemble import shown
from conformance.record.compare import Changed, Comparison, compare, compared_rows, same_verdicts
from conformance.record.model import BUILD
from conformance.report.asked import Asked
from conformance.report.comparison import render_changes
from conformance.report.runs import given_specs
from conformance.report.tally import with_recorded_own
from conformance.settings import NO_GATE, Gate
from conformance.spec.entry import ENTRIES, OWN, ROWS, Entry
from conformance.spec.load import Specs
from conformance.status import ABSENT, EXPLAINED, FAILURES
from conformance.text import counted, one_line

MET, NOT_MET, BAD_INPUT = 0, 1, 2
"""The last is the exit code of a run that judged nothing, too."""

_NAMED = 5
_JOIN = "candle-parity report SHARD... with the same options"


@dataclass(frozen=True)
class SelectedPart:
    """What was selected of one kind of entry (kernels, launchers, own kernels): its ``rows``, out of ``total`` in the
    specs."""

    rows: Sequence[KernelResult] = ()
    total: int = 0

    @property
    def passed(self) -> int:
        """How many of the rows have the status ``pass``."""
        return sum(row.status == "pass" for row in self.rows)

    @property
    def conditional(self) -> int:
        """How many kernels the port launches under a condition only, which it declares (``when``): the other cases do
        not count."""
        return sum(row.status == "pass" and row.launched_when is not None for row in self.rows)


NONE = SelectedPart()


@dataclass(frozen=True)
class Judged:
    """What the gates decide about.

    ``specs`` follows the count of kernels where the specs are not the harness's own: `` of the given specs DIR``.
    ``problems`` are sentences about declarations of the port that do not hold; each is a failure of the run. With a
    ``shard`` no gate decides, as gates are for all shards together. ``undecided`` says why the exit code is 2 in any
    case. ``spoiled`` names a failure that counts whatever the gates say.
    """

    parts: Mapping[Entry, SelectedPart]
    specs: str = ""
    problems: Sequence[str] = ()
    shard: str | None = None
    undecided: str | None = None
    spoiled: str | None = None

    def part(self, entry: Entry) -> SelectedPart:
        """What was selected of the kind ``entry``."""
        return self.parts.get(entry, NONE)

    @property
    def rows(self) -> list[KernelResult]:
        """All selected rows, of every kind."""
        return [row for entry in ENTRIES for row in self.part(entry).rows]

    def counting(self, entry: Entry) -> Sequence[KernelResult]:
        """The rows of one kind that have to be at parity. Launchers that no source defines are left out, unless only
        launchers were selected."""
        rows = self.part(entry).rows
        if ROWS[entry].must_be_there or len(rows) == len(self.rows):
            return rows
        return [row for row in rows if row.status not in ABSENT]


@dataclass(frozen=True)
class Decision:
    """What the gates decide: the exit ``code`` and the sentences that explain it.

    ``line`` is what they say of kernels on standard output (``None`` without a gate), ``launchers`` and ``own`` what
    they say of launchers and own kernels. ``why`` are the sentences for standard error.
    """

    code: int
    line: str | None = None
    why: tuple[str, ...] = ()
    launchers: str | None = None
    own: str | None = None

    @property
    def lines(self) -> list[str]:
        """The lines for standard output."""
        return [line for line in (self.line, self.launchers, self.own) if line is not None]


@dataclass(frozen=True)
class Against:
    """A baseline as a gate: the file's name, and what changed since. ``None`` for the latter: there is no baseline
    yet."""

    name: str
    comparison: Comparison | None

    @property
    def why(self) -> str | None:
        """Why the gate is not met, in a sentence; ``None`` where it is. A launcher that became worse counts like a
        kernel."""
        if self.comparison is None:
            return None
        counts = {entry: len(changed.worse) for entry, changed in self.comparison.parts.items() if changed.worse}
        if not counts:
            return None
        named = " and ".join(counted(count, ROWS[entry].noun) for entry, count in counts.items())
        return f"{named} {'is' if sum(counts.values()) == 1 else 'are'} worse than in the baseline"


@dataclass(frozen=True)
class _Condition:
    """A gate: its name, whether it is met, ``why`` not, and the ``text`` of what it asks for and what there is."""

    name: str
    met: bool
    why: str = ""
    text: str = ""


def decide(judged: Judged, asked: Gate = NO_GATE, against: Against | None = None) -> Decision:
    """The exit code, and why, for what was ``judged``, by the gates that are ``asked`` and the baseline ``against``.

    The code is 2 whatever else holds if nothing was judged, or if a kernel has no verdict for a reason that is not its
    own doing. Otherwise:

    - With a gate, only gates decide between 0 and 1. ``fail_under`` is the least percentage of all kernels, compared
      without rounding. ``against`` allows nothing to become worse. Both have to be met.
    - Without a gate every selected kernel has to pass or to have a failure that the port declares. ``strict`` asks for
      this in addition to the gates.
    - Launchers and own kernels have gates of their own and no part in ``fail_under``. Without a gate, and with
      ``strict``, one that was judged and failed is a failure.
    """
    below = "the coverage is below the gate" if against is not None else ""  # else its text says it
    coverage = _share_gate("coverage", judged.part("kernel"), asked.fail_under, f" kernels{judged.specs}", below)
    figures = [*coverage, *_baseline(against)]
    launchers = _share_gate("launchers", judged.part("launcher"), asked.fail_under_launchers)
    own = _share_gate(*_own_part(judged), asked.fail_under_own)
    gated = bool(figures or launchers or own)
    line = "; ".join(one.text for one in figures) or None
    apart = [gate[0].text if gate else None for gate in (launchers, own)]
    lost = _lost(judged, asked, against, gated)
    if lost is not None or judged.undecided is not None:
        open_ = "not decided" + (f": {judged.undecided}" if judged.undecided else "")
        lines = [None if text is None else f"{text}: {open_}" for text in (line, *apart)]
        return Decision(BAD_INPUT, lines[0], () if lost is None else (lost,), *lines[1:])
    clean, why = _clean(judged, gated)
    if not gated:
        return Decision(MET if clean.met else NOT_MET, None, why)
    strict = [clean] if asked.strict else []
    if judged.shard is not None:
        here = "".join(f"; here NOT met: {one.why}" for one in strict if not one.met)
        line = f"shard {judged.shard}: gates are for all shards together: {_JOIN}{here}"
        return Decision(_code(strict), line, why)
    others = strict if _code(coverage) == MET else []
    others += [_Condition("other tests", False, judged.spoiled)] if judged.spoiled else []
    code = _code([*figures, *launchers, *own, *others])
    apart = [f"{gate[0].text}: {_verdict(gate)}" if gate else None for gate in (launchers, own)]
    if figures:
        return Decision(code, f"{line}: {_verdict([*figures, *others])}", why, *apart)
    if _code(others) == NOT_MET:  # the last line says it where no gate of Candle's kernels is there to do so
        last = max(place for place, text in enumerate(apart) if text is not None)
        apart[last] = f"{apart[last]}; {_verdict(others)}"
    return Decision(code, None, why, *apart)


def _own_part(judged: Judged) -> tuple[str, SelectedPart]:
    """What the port has and Candle has not, which one gate is over: own kernels, and own launchers where it has any."""
    parts = [(ROWS[entry].plural, judged.part(entry)) for entry in OWN]
    named = [what for what, part in parts if part.total] or ["own kernels"]
    rows = [row for _, part in parts for row in part.rows]
    return " and ".join(named), SelectedPart(rows, sum(part.total for _, part in parts))


def _code(conditions: Sequence[_Condition]) -> int:
    return MET if all(one.met for one in conditions) else NOT_MET


def _verdict(conditions: Sequence[_Condition]) -> str:
    """``met``, or ``NOT met: ...`` with the sentences."""
    why = "; ".join(one.why for one in conditions if not one.met and one.why)
    return "met" if _code(conditions) == MET else f"NOT met: {why}" if why else "NOT met"


def _share_gate(name: str, part: SelectedPart, gate: float | None, what: str = "", why: str = "") -> list[_Condition]:
    """The gate over a share in percent, compared unrounded; none where it is not asked for."""
    if gate is None:
        return []
    met = part.total > 0 and 100 * part.passed / part.total >= gate
    return [_Condition(name, met, why, f"{name} {_share(part, gate, what)}, gate {gate:.12g}%")]


def _baseline(against: Against | None) -> list[_Condition]:
    if against is None:
        return []
    counts = "none yet, so nothing was compared"
    if against.comparison is not None:
        compared = against.comparison.parts.items()
        # Of the kernels always, also where there are none in common.
        counts = ", ".join(
            _compared(each, entry) for entry, each in compared if ROWS[entry].in_coverage or each.compared
        )
    return [_Condition("baseline", against.why is None, against.why or "", f"baseline {against.name}: {counts}")]


def _clean(judged: Judged, gated: bool) -> tuple[_Condition, tuple[str, ...]]:
    """Whether everything that was selected passed or fails as declared, and what standard error says where not."""
    parts = {entry: judged.counting(entry) for entry in ENTRIES}
    rows = [row for part in parts.values() for row in part]
    failed = [row for row in rows if row.status in FAILURES and row.known_reason is None]
    idle = [row for row in rows if row.status == "not_run"]
    missing = [row for row in failed if row.status == "missing"]
    why = [f"not judged: {_names(idle)} ({idle[0].message or 'no case was run'})"] if idle else []
    why += judged.problems
    why += [f"defined in no source: {_names(missing)}"] if missing and not gated else []
    why += [f"{row.name}: {row.message}" for row in missing if row.message is not None][:1]
    bad = {row.name for row in (*failed, *idle)}
    kinds = " and ".join(ROWS[entry].plural for entry, part in parts.items() if any(row.name in bad for row in part))
    what = f"{len(bad)} of the selected {kinds} are not at parity" if bad else "the port's declarations do not hold"
    return _Condition("strict", not (bad or judged.problems), f"--strict, and {what}"), tuple(why)


def _compared(changed: Changed, entry: Entry) -> str:
    compared = counted(changed.compared, ROWS[entry].noun)
    return f"{len(changed.worse)} worse and {len(changed.better)} better of {compared} compared"


def _lost(judged: Judged, asked: Gate, against: Against | None, gated: bool) -> str | None:
    """Why the run says nothing of the port, in a sentence; ``None`` where it does. A shard may lie in a part of the
    kernels that the port does not have. A lost launcher counts where launchers do: alone, ungated, or with a gate."""
    kernels, every, shard = judged.part("kernel").rows, judged.rows, judged.shard
    all_count = not kernels or not gated or asked.fail_under_launchers is not None or asked.fail_under_own is not None
    gone = [row for row in (every if all_count else kernels) if row.lost]
    if gone:
        whose = next(ROWS[entry].plural for entry in ENTRIES if any(row.lost for row in judged.part(entry).rows))
        return f"{_names(gone)} could not be judged, which is not the {whose}' doing: {gone[0].message}; run again"
    if not every:
        return "no kernel was selected, so nothing was judged"
    if shard is None and all(row.status == "missing" for row in every):
        what = next(ROWS[entry].plural for entry in ENTRIES if judged.part(entry).rows)
        why = next((row.message for row in every if row.message), "`candle-parity check` names near misses")
        return (
            f"nothing was judged: the sources define none of the {len(kernels or every)} selected {what}, such as "
            f"{every[0].name}; {why}"
        )
    if all(row.status in ABSENT for row in every) and any(row.status == "not_run" for row in every):
        idle = next(row for row in every if row.status == "not_run")
        return f"nothing was judged: {idle.name}: {idle.message or 'no case was run'}"
    comparison = None if against is None or shard is not None else against.comparison
    if against is not None and comparison and not any(part.compared for part in comparison.parts.values()):
        return f"{against.name} and this run have a verdict on no kernel in common, so nothing was compared"
    return None


def _share(part: SelectedPart, gate: float, what: str = "") -> str:
    """The percentage is rounded down, to as many digits as it takes to stand on the right side of the gate. Passes
    that a condition of the port's own made possible are told, as the gate alone may be all that somebody reads."""
    coverage = 100 * part.passed / part.total if part.total else 0.0
    for digits in range(2, 13):
        shown = math.floor(round(coverage * 10**digits, 3)) / 10**digits
        if (shown >= gate) == (coverage >= gate):
            break
    some = (
        f", {part.conditional} of them judged only in cases that the port declares to launch"
        if part.conditional
        else ""
    )
    return f"{shown:.{digits}f}% ({part.passed} of {part.total}{what}{some})"


def _names(rows: Sequence[KernelResult]) -> str:
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row.name for row in rows[:_NAMED]) + more


@dataclass(frozen=True)
class Gating:
    """The gates of a run: those ``asked`` for on the command line, and for what it leaves open those of the port's
    file.

    ``standing`` is the baseline as it was when the run began; ``None`` where there is none yet.
    """

    asked: Gate = NO_GATE
    standing: Record | None = None
    shard: str | None = None

    @property
    def anything(self) -> bool:
        """Whether there is a gate or ``strict``, so that not each failure alone decides."""
        return replace(self.asked, update_baseline=False) != NO_GATE

    def against(self, record: Record) -> Against | None:
        """The baseline as a gate for ``record``; ``None`` without a baseline."""
        if self.asked.baseline is None:
            return None
        comparison = None if self.standing is None else compare(self.standing, record)
        return Against(shown(self.asked.baseline), comparison)


def gating_from(
    given: Gate,
    config: Config | None = None,
    whole: bool = True,
    recorded: bool = False,
    shard: Shard | None = None,
    own: bool = True,
) -> Gating:
    """The gates ``given`` on the command line, and for what it leaves open those of the port's file.

    The file's ``fail_under`` only holds for runs of every kernel (``whole``), and its baseline only for ``run``, not
    for ``replay`` (``recorded``). ``own`` says that own kernels are judged. Raises ``UsageError`` for options that
    exclude each other, and for a baseline that cannot be read or is not the record of a run.
    """
    file = NO_GATE if config is None else config.gate
    ignored = ["baseline"] if recorded else []
    if not whole:
        shares = ["fail_under", "fail_under_launchers", "fail_under_own"]
        if config and any(getattr(given, name) is None and getattr(file, name) is not None for name in shares):
            print(
                f"candle-parity: fail_under of {one_line(str(config.file))} is not applied, as only some kernels were "
                "selected; --fail-under applies to every run",
                file=sys.stderr,
            )
        ignored += shares
    if not own:
        if given.fail_under_own is not None:
            raise UsageError(
                "--fail-under-own: no own kernel is judged; give --own, and name their folders under [own] in the "
                "port's candle-parity.toml"
            )
        if whole and config and file.fail_under_own is not None:
            text = f"fail_under_own of {config.file} is not asked, as own kernels are judged with --own only"
            print(f"candle-parity: {one_line(text)}", file=sys.stderr)
        ignored.append("fail_under_own")
    missing = [row.name for row in Gate.rows() if getattr(given, row.name) is None and row.name not in ignored]
    asked = replace(given, **{name: getattr(file, name) for name in missing})
    if asked.update_baseline and asked.baseline is None:
        raise UsageError("--update-baseline: name the file with --baseline RECORD, or in candle-parity.toml")
    if asked.update_baseline and shard is not None:
        raise UsageError("--update-baseline: a shard is a part of a run; give it to `report` with all the shards")
    gating = Gating(replace(asked, strict=asked.strict or None), shard=None if shard is None else str(shard))
    baseline = asked.baseline
    if baseline is None or shard is not None or (asked.update_baseline and not baseline.exists()):
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
    """Print what the gates decide about ``rows``, the selected kernels and launchers of ``record``; returns the exit
    code.

    A new baseline is written first, if it is asked for. If it cannot be written, the code is 2, unless kernels became
    worse. ``problems`` and ``undecided`` are as in ``Judged``.
    """
    against = gating.against(record)
    judged = _judged(gating, against, record, rows, specs, problems, undecided)
    decision = decide(judged, gating.asked, against)
    changes = [] if against is None or against.comparison is None else render_changes(against.comparison)
    if changes:
        print("\n".join([*changes, ""]))
    if gating.asked.update_baseline and against is not None and decision.code != BAD_INPUT:
        why = _update(gating, against, record)
        if why is not None and against.why is None:
            judged = replace(judged, undecided=f"{against.name} stays as it is: {why}")
            decision = decide(judged, gating.asked, against)
        elif why is not None:
            print(f"candle-parity: {one_line(f'{against.name} stays as it is: {why}')}", file=sys.stderr)
    for line in decision.lines:
        print(one_line(line))
    for sentence in decision.why:
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    return decision.code


def parts_of(rows: Sequence[KernelResult], specs: Specs) -> dict[Entry, SelectedPart]:
    """The selected ``rows`` by kind of entry. A row that no spec has counts among the kernels."""
    entries = {row.name: next((entry for entry in ENTRIES if row.name in specs.of(entry)), "kernel") for row in rows}
    return {
        entry: SelectedPart([row for row in rows if entries[row.name] == entry], len(specs.of(entry)))
        for entry in ENTRIES
    }


def _judged(
    gating: Gating,
    against: Against | None,
    record: Record,
    rows: Sequence[KernelResult],
    specs: Specs,
    problems: Sequence[str] = (),
    undecided: str | None = None,
) -> Judged:
    judged = Judged(
        parts_of(rows, with_recorded_own(specs, [record])),
        given_specs(record.run, specs),
        problems,
        gating.shard,
        undecided,
    )
    if against is not None and against.comparison is not None and undecided is None:
        judged = replace(judged, undecided=_incomparable(against.comparison.old.run, record.run))
    return judged


def asked_of(
    gating: Gating, record: Record, rows: Sequence[KernelResult], specs: Specs, problems: Sequence[str] = ()
) -> Asked:
    """What the gates make of the failures among ``rows``, for JUnit. Arguments are those of ``conclude``."""
    against = gating.against(record)
    decision = decide(_judged(gating, against, record, rows, specs, problems), gating.asked, against)
    return asked_by(decision, rows, gating.asked, against)


def asked_by(
    decision: Decision, rows: Sequence[KernelResult], asked: Gate = NO_GATE, against: Against | None = None
) -> Asked:
    """What ``decision`` makes of the failures among ``rows``: which of them were to be expected.

    With a baseline these are the failures that it has too and that did not become worse. If the gates are met, every
    other failure is expected as well. With ``strict`` none is.
    """
    why = "; ".join([*decision.lines, *decision.why]) or "a kernel is not at parity"
    unmet = why if decision.code == NOT_MET else None
    if asked.strict or decision.code == BAD_INPUT:
        return Asked({}, unmet)
    before = known_before(against)
    failing = [row for row in rows if row.status in FAILURES and row.known_reason is None]
    expected = {row.name: before[row.name] for row in failing if row.name in before}
    if decision.code == MET:
        expected |= {row.name: f"{row.status}, which the gate allows" for row in failing if row.name not in before}
    return Asked(expected, unmet)


def known_before(against: Against | None) -> dict[str, str]:
    """By kernel name, the sentence that it fails in the baseline too: for kernels that did not become worse since."""
    comparison = None if against is None else against.comparison
    if against is None or comparison is None:
        return {}
    worse = {change.kernel for part in comparison.parts.values() for change in part.worse}
    return {
        row.name: f"{row.status} in the baseline {against.name} too"
        for row in compared_rows(comparison.old)
        if row.status in EXPLAINED and row.name not in worse
    }


def _incomparable(old: RunInfo, new: RunInfo) -> str | None:
    """Why verdicts of the two say nothing of each other: cases that were made are not those that were recorded."""
    if (old.subject, old.traces is None) == (new.subject, new.traces is None):
        return None
    return "the baseline has other cases: one is of `run`, the other of `replay`, or of the reference"


def _update(gating: Gating, against: Against, record: Record) -> str | None:
    """Write ``record`` as the new baseline; why it is not written, in words, or ``None``."""
    assert gating.asked.baseline is not None
    refused = _refused(against)
    if refused is not None:
        return refused
    if gating.standing is not None and same_verdicts(gating.standing, record):
        print(f"baseline {one_line(against.name)}: nothing to write, the verdicts are the same")
        return None
    try:
        write_record(record, gating.asked.baseline)
    except FileError as error:
        return str(error)
    print(f"baseline {one_line(against.name)}: written")
    return None


def _refused(against: Against) -> str | None:
    """Why a new baseline is not written, in words."""
    comparison = against.comparison
    if comparison is None:
        return None
    if not comparison.same_place:
        return "it was judged in another way or on another device; remove it to begin with this run"
    for entry, part in comparison.parts.items():
        if part.unjudged:
            whole = "every kernel" if ROWS[entry].in_coverage else "them too"
            what = counted(len(part.unjudged), ROWS[entry].noun)
            verb = "was" if len(part.unjudged) == 1 else "were"
            return f"it has verdicts on {what} that {verb} not judged here; run {whole}"
    return None if against.why is None else f"{against.why}; delete it to begin with this run"
