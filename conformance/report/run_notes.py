"""What a reader must know of a run before its figures: weakened checks, an interruption, cases that do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.cases.candle_changes import changes_from
from conformance.cases.case import Case
from conformance.cases.never_launched import NeverLaunched, never_launched
from conformance.outcome import INFRASTRUCTURE
from conformance.port.config import OPTIONS_FILE
from conformance.port.options import CHANGES_ARITHMETIC
from conformance.record import KernelResult, Record, RunInfo
from conformance.record.merge import gaps
from conformance.report.kernels import adapters, conditions, fixes, known_failures, leak_note, misaligned_note
from conformance.report.launches import launches_note
from conformance.report.tally import kernel_of
from conformance.spec.entry import ROWS, Entry
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import code, counted, link, plain, some

_FAILING = 8
_WRONG_UPSTREAM = "Candle's own kernel gets them wrong (see what upstream gets wrong)"
_OTHER = NeverLaunched("why is not known to these specs", "")
_BY_THE_PORT = NeverLaunched("launches that the port never makes, as it declares", OPTIONS_FILE)


@dataclass
class Reason:
    """Why some failed cases do not count: the reason ``why``, where Candle's sources show it, and the kernels."""

    why: str
    places: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    kernels: dict[str, str] = field(default_factory=dict)
    """The first failing case of each, with what was wrong."""


def robustness_note(rows: Sequence[KernelResult], specs: Specs, entry: Entry = "kernel") -> str | None:
    """A sentence: how many cases without a part in the verdict were run, and how many failed; ``None`` where there were
    none."""
    found = [row.robustness for row in rows if row.robustness is not None]
    planned, ran, failed = (sum(getattr(row, name) for row in found) for name in ("planned", "cases", "failed"))
    if not planned:
        return None
    of_them = "" if ROWS[entry].in_coverage else f" of {ROWS[entry].plural}"
    what = f"{planned:,} more cases{of_them} are launches" if planned > 1 else "1 more case is a launch"
    text = (
        f"{what} that Candle's Rust side never makes, or that its own kernels get wrong; "
        f"{'they have' if planned > 1 else 'it has'} no part in any verdict"
    )
    if not ran:
        return f"{text}; none was run"
    of = "" if ran >= planned else f" of the {ran:,} that were run"
    if not failed:
        return f"{text}; none{of} failed"
    kernels = sum(row.failed > 0 for row in found)
    by_reason = ", ".join(f"{reason.failed:,} as {reason.why}" for reason in reasons(rows, specs))
    return f"{text}; {failed:,}{of} failed, in {counted(kernels, ROWS[entry].noun)} ({by_reason})"


def unasked_note(rows: Sequence[KernelResult]) -> str | None:
    """A sentence: how many cases without a part in the verdict were not run, and how to run them; ``None`` where all
    were."""
    count = sum(row.unasked for row in rows)
    if not count:
        return None
    what = "cases were not run, as they have" if count > 1 else "case was not run, as it has"
    return (
        f"{count:,} {what} no part in any verdict: launches that Candle's Rust side never makes, or that its own "
        "kernels get wrong; --all-cases runs them too"
    )


def reasons(rows: Sequence[KernelResult], specs: Specs) -> list[Reason]:
    """The failures among these cases by reason, the most frequent first. A case with two reasons counts under the
    first."""
    by_reason: dict[str, Reason] = {}
    for row in rows:
        if row.robustness is None:
            continue
        for failure in row.robustness.failures:
            told = _reason(kernel_of(row, specs), failure.case)
            if told is _OTHER and row.launched_when is not None:
                told = _BY_THE_PORT
            why, where = told
            reason = by_reason.setdefault(why, Reason(why))
            reason.places[where] = None
            reason.failed += 1
            reason.kernels.setdefault(row.name, f"{failure.case}: {failure.why}")
    return sorted(by_reason.values(), key=lambda reason: -reason.failed)


def _reason(kernel: Kernel, text: str) -> NeverLaunched:
    try:
        case = Case.parse(text)
        if kernel.is_wrong_upstream(case.text):
            return NeverLaunched(_WRONG_UPSTREAM, f"candle-kernels/src/{kernel.upstream}")
        return never_launched(kernel.launch, case) or _OTHER
    except ValueError:  # a record may hold any text
        return _OTHER


def failed_robustness(rows: Sequence[KernelResult]) -> bool:
    """Whether one of these cases failed, or stopped the others."""
    return any(row.robustness and (row.robustness.failed or row.robustness.message) for row in rows)


def robustness_lines(rows: Sequence[KernelResult], specs: Specs, entry: Entry = "kernel") -> list[str]:
    """The section of the Markdown report about these cases."""
    note = robustness_note(rows, specs, entry)
    if note is None:
        return ["No such case was run."]
    lines = [plain(f"{note}.")]
    for reason in reasons(rows, specs):
        names = list(reason.kernels)
        places = ", ".join(_place(place, specs) for place in sorted(reason.places) if place)
        about = f"{counted(reason.failed, 'case')} of {counted(len(names), ROWS[entry].noun)}"
        lines += ["", f"- {plain(reason.why)} ({places}): {about}: {some(list(map(code, names)), _FAILING)}."]
        lines.append(f"  First: {plain(next(iter(reason.kernels.values())))}.")
    stopped = [row for row in rows if row.robustness is not None and row.robustness.message]
    for row in stopped:
        assert row.robustness is not None
        why = f"{row.robustness.cases} of {row.robustness.planned} run: {row.robustness.message}"
        lines += ["", f"- {code(row.name)}: {plain(why)}"]
    return lines


def _place(place: str, specs: Specs) -> str:
    file, _, line = place.partition(":")
    return link(place, f"https://github.com/{specs.upstream_repository}/blob/{specs.upstream_commit}/{file}#L{line}")


_NAMED = 5


class Remark(NamedTuple):
    """A sentence about a run.

    ``kind`` is ``warning`` if the figures say less than they seem to, else ``note``. An ``aside`` is about cases
    without a part in the verdict that nobody asked for; a terminal shows it only with ``-v``.
    """

    kind: str
    text: str
    aside: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def remarks(record: Record, rows: Sequence[KernelResult], specs: Specs) -> list[Remark]:
    """The remarks on one run, not escaped. ``rows`` are its results over every kernel of the specs."""
    run = record.run
    loaded = (*rows, *record.own)
    called = (*record.launchers, *record.own_launchers)
    judged = (*rows, *record.launchers, *record.of_port)
    lost = _lost([row for row in judged if row.lost])
    found: list[tuple[str, str | None]] = [
        ("warning", f"checks were weakened: {', '.join(run.weakened)}" if run.weakened else None),
        ("warning", f"no sandbox: {run.sandbox}" if run.sandbox and run.sandbox.startswith("none") else None),
        ("warning", None if run.complete or run.missing_shards else _interrupted(record, rows)),
        *(("warning", text) for text in gaps([record])),
        ("warning", lost),
        *(("warning", text) for text in run.infrastructure if text not in (lost or "")),
        ("warning", leak_note(called)),
        ("note", f"run on the host: {run.fallback}" if run.fallback else None),
        ("note", f"{run.kept} verdicts are those of earlier runs of the same code (--reuse)" if run.kept else None),
        *(
            ("note", f"compiled with {flag}, which changes NaN, infinities or rounding in every kernel")
            for flag in _arithmetic(run)
        ),
        ("warning", _before(run)),
        *(("note", f"device {device} was left out: another architecture") for device in run.left_out_devices),
        *(("note", text) for text in (*known_failures(rows), *fixes(judged))),
        *(("note", text) for text in known_failures(record.launchers, "launcher")),
        *(("note", text) for text in known_failures(record.own, "own kernel")),
        *(("note", text) for text in known_failures(record.own_launchers, "own launcher")),
        *(("note", text) for text in conditions(loaded)),
        ("note", adapters(loaded)),
        ("note", _compilers(record, rows)),
        ("note", _left_out(rows)),
        ("note", misaligned_note(judged)),
        ("note", launches_note(loaded)),
        ("note", _pinned(loaded)),
        *(("note", text) for text in _of_passing(rows)),
        ("note", robustness_note(rows, specs)),
        ("note", _of_launchers(record, specs)),
        ("aside", unasked_note((*judged, *record.libraries))),
        *(("warning", text) for text in _refused(record, rows)),
        ("note", _other_specs(record, specs)),
    ]
    return [Remark("note" if kind == "aside" else kind, text, aside=kind == "aside") for kind, text in found if text]


def _before(run: RunInfo) -> str | None:
    """That an older Candle was judged against, and what of it these specs do not have."""
    changes = [] if run.candle_before is None else changes_from(run.candle_before)
    if not changes:
        return None
    not_had = [f"; the specs cannot express it before {one.commit}: {one.since}" for one in changes if not one.traits]
    return f"judged against Candle before {run.candle_before} ({changes[0].date}){''.join(not_had)}"


def _arithmetic(run: RunInfo) -> list[str]:
    """The compiler's options that change what numbers kernels compute."""
    given = [option.removeprefix("--flag=") for option in run.options if option.startswith("--flag=")]
    return [flag for flag in given if CHANGES_ARITHMETIC.fullmatch(flag)]


def _of_launchers(record: Record, specs: Specs) -> str | None:
    """What launchers do in launches that Candle's Rust side never makes, where some fail."""
    return robustness_note(record.launchers, specs, "launcher") if failed_robustness(record.launchers) else None


def shared_remarks(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> list[tuple[Remark, str]]:
    """The remarks on several runs, each once, with the names of the runs. Warnings come first."""
    runs: dict[Remark, list[str]] = {}
    for name, record, part in zip(names, found, rows, strict=True):
        for remark in remarks(record, part, specs):
            runs.setdefault(remark, []).append(name)
    found_in = [(remark, ", ".join(about)) for remark, about in runs.items()]
    return sorted(found_in, key=lambda item: item[0].kind != "warning")


def _interrupted(record: Record, rows: Sequence[KernelResult]) -> str:
    judged = sum(row.status != "not_run" for row in rows)
    selected = len(rows) if record.run.selected is None else record.run.selected
    return f"interrupted: {judged} of {selected} selected kernels judged"


def _lost(rows: Sequence[KernelResult]) -> str | None:
    if not rows:
        return None
    names = ", ".join(row.name for row in rows[:_NAMED]) + (" ..." if len(rows) > _NAMED else "")
    count = "1 selected kernel was" if len(rows) == 1 else f"{len(rows)} selected kernels were"
    whose = "its" if len(rows) == 1 else "their"
    why = (rows[0].message or "").removeprefix(INFRASTRUCTURE)
    return f"{count} not judged, which is not {whose} doing: {names}: {why}"


def _pinned(rows: Sequence[KernelResult]) -> str | None:
    """How many cases are pinned: launches of programs, among those of every kernel that has some."""
    kernels = [row for row in rows if row.pinned]
    if not kernels:
        return None
    count = sum(row.pinned for row in kernels)
    what = f"{count:,} of the cases {'is' if count == 1 else 'are'} pinned, of {counted(len(kernels), 'kernel')}"
    return f"{what}: launches of programs that the port keeps, judged by the reference as every case"


def _compilers(record: Record, rows: Sequence[KernelResult]) -> str | None:
    """How many kernels each compiler compiled, where there are two to choose from."""
    counts = Counter((row.compiler, row.compiler_name) for row in rows if row.compiler)
    if not counts:
        return None
    compiled = []
    for (compiler, name), count in sorted(counts.items(), key=lambda item: (item[0][0] != "hiprtc", str(item[0]))):
        called = compiler if name is None else f"{compiler} ({name})"
        refused = compiler == "hipcc" and record.run.compiler == "auto"
        why = f" (hiprtc refuses {'its file' if count == 1 else 'their files'})" if refused else ""
        compiled.append(f"by {called}: {counted(count, 'kernel')}{why}")
    return f"compiled {'; '.join(compiled)}"


def _left_out(rows: Sequence[KernelResult]) -> str | None:
    count = sum(row.left_out for row in rows)
    kernels = sum(row.left_out > 0 for row in rows)
    text = f"{count} cases of {kernels} kernels were not launched: their right result is a fault, which the device"
    return f"{text} would not survive, or they span gaps of memory that only the cpu runtime has" if count else None


def _of_passing(rows: Sequence[KernelResult]) -> list[str]:
    """Messages about kernels that pass, such as ties in another order, each once."""
    counts = Counter(row.message for row in rows if row.status == "pass" and row.message)
    first = {row.message: row.name for row in reversed(rows) if row.status == "pass" and row.message}
    return [
        f"{first[text]}{f' and {count - 1} kernels more' if count > 1 else ''}: {text}"
        for text, count in counts.items()
    ]


def _refused(record: Record, rows: Sequence[KernelResult]) -> list[str]:
    """Kernels that were judged and that AMD's compiler refuses, by their errors."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for target, build in record.run.builds.items():
        for row in rows:
            tried = row.cases > 0 and target not in row.compiles_for
            error = build.broken.get(row.name) or build.failed.get((row.source or "").rpartition(":")[0])
            if tried and error is not None:
                names, targets = groups.setdefault(error, ([], []))
                names += [] if row.name in names else [row.name]
                targets += [] if target in targets else [target]
    return [
        f"AMD's compiler refuses {counted(len(names), 'kernel')} that "
        f"{'was' if len(names) == 1 else 'were'} judged ({', '.join(names[:_NAMED])}"
        f"{' ...' if len(names) > _NAMED else ''}), for {', '.join(targets)}: {error}"
        for error, (names, targets) in groups.items()
    ]


def _other_specs(record: Record, specs: Specs) -> str | None:
    digest = record.run.specs_digest
    if digest is None or digest == specs.digest:
        return None
    return f"recorded with specs of digest {digest}; this report is over the kernels of specs of digest {specs.digest}"
