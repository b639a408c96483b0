"""What became of cases that have no part in a verdict, grouped by why they have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.cases.case import Case
from conformance.cases.never_launched import NeverLaunched, never_launched
from conformance.record import KernelResult
from conformance.report.causes.lines import counted
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import code, link, plain

_NAMED = 8
_WRONG_UPSTREAM = "Candle's own kernel gets them wrong (see what upstream gets wrong)"
_OTHER = NeverLaunched("why is not known to these specs", "")


@dataclass
class Reason:
    """Failed cases that count apart for one reason: ``why``, where Candle's sources say so, which kernels."""

    why: str
    places: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    kernels: dict[str, str] = field(default_factory=dict)
    """The first failing case of each, with what was wrong."""


def robustness_note(rows: Sequence[KernelResult], specs: Specs, noun: str = "kernel") -> str | None:
    """One sentence: how many such cases were tried and how many failed; ``None`` where there were none."""
    found = [row.robustness for row in rows if row.robustness is not None]
    planned, ran, failed = (sum(getattr(row, name) for row in found) for name in ("planned", "cases", "failed"))
    if not planned:
        return None
    of_launchers = "" if noun == "kernel" else f" of {noun}s"
    what = f"{planned:,} more cases{of_launchers} are launches" if planned > 1 else "1 more case is a launch"
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
    return f"{text}; {failed:,}{of} failed, in {counted(kernels, noun)} ({by_reason})"


def reasons(rows: Sequence[KernelResult], specs: Specs) -> list[Reason]:
    """The failures by reason, the most frequent first; a case with two reasons counts under the first."""
    found: dict[str, Reason] = {}
    for row in rows:
        if row.robustness is None:
            continue
        for failure in row.robustness.failures:
            why, where = _reason(specs.entry(row.name), failure.case)
            reason = found.setdefault(why, Reason(why))
            reason.places[where] = None
            reason.failed += 1
            reason.kernels.setdefault(row.name, f"{failure.case}: {failure.why}")
    return sorted(found.values(), key=lambda reason: -reason.failed)


def _reason(kernel: Kernel, text: str) -> NeverLaunched:
    try:
        case = Case.parse(text)
        if kernel.is_wrong_upstream(case.text):
            return NeverLaunched(_WRONG_UPSTREAM, f"candle-kernels/src/{kernel.upstream}")
        return never_launched(kernel.launch, case) or _OTHER
    except ValueError:  # a record may hold any text
        return _OTHER


def failed_robustness(rows: Sequence[KernelResult]) -> bool:
    """Whether such a case failed, or stopped the others."""
    return any(row.robustness and (row.robustness.failed or row.robustness.message) for row in rows)


def robustness_lines(rows: Sequence[KernelResult], specs: Specs, noun: str = "kernel") -> list[str]:
    """The section of the Markdown report."""
    note = robustness_note(rows, specs, noun)
    if note is None:
        return ["No such case was run."]
    lines = [plain(f"{note}.")]
    for reason in reasons(rows, specs):
        names = list(reason.kernels)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        places = ", ".join(_place(place, specs) for place in sorted(reason.places) if place)
        about = f"{counted(reason.failed, 'case')} of {counted(len(names), noun)}"
        lines += ["", f"- {plain(reason.why)} ({places}): {about}: {', '.join(map(code, names[:_NAMED]))}{more}."]
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
