"""What became of cases that Candle's Rust side never launches: grouped by why it does not, apart from every verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.cases.case import Case
from conformance.cases.never_launched import NeverLaunched, never_launched
from conformance.record import KernelResult
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import code, link, plain

_NAMED = 8
_OTHER = NeverLaunched("why is not known to these specs", "")
_WRONG = NeverLaunched("launches that Candle makes and its own kernel gets wrong: see the upstream defects", "")


@dataclass
class Reason:
    """Failed cases that Candle never launches for one reason: ``why``, where its sources say so, which kernels."""

    why: str
    places: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    kernels: dict[str, str] = field(default_factory=dict)
    """The first failing case of each, with what was wrong."""


def robustness_note(rows: Sequence[KernelResult], specs: Specs) -> str | None:
    """One sentence: how many such cases were tried and how many failed; ``None`` where there were none."""
    found = [row.robustness for row in rows if row.robustness is not None]
    planned, failed = sum(row.planned for row in found), sum(row.failed for row in found)
    if not planned:
        return None
    text = f"{planned:,} more cases are launches that Candle's Rust side never makes; they have no part in any verdict"
    if not failed:
        return f"{text}; none failed"
    kernels = sum(row.failed > 0 for row in found)
    by_reason = ", ".join(f"{reason.failed:,} as {reason.why}" for reason in reasons(rows, specs))
    return f"{text}; {failed:,} failed, in {kernels} kernels ({by_reason})"


def reasons(rows: Sequence[KernelResult], specs: Specs) -> list[Reason]:
    """The failures by reason, the most frequent first; a case with two reasons counts under the first."""
    found: dict[str, Reason] = {}
    for row in rows:
        if row.robustness is None:
            continue
        for failure in row.robustness.failures:
            why, where = _reason(specs.kernels[row.name], failure.case)
            reason = found.setdefault(why, Reason(why))
            reason.places[where] = None
            reason.failed += 1
            reason.kernels.setdefault(row.name, f"{failure.case}: {failure.why}")
    return sorted(found.values(), key=lambda reason: -reason.failed)


def _reason(kernel: Kernel, case: str) -> NeverLaunched:
    try:
        parsed = Case.parse(case)
    except ValueError:  # a record may hold any text
        return _OTHER
    return never_launched(kernel.launch, parsed) or (_WRONG if kernel.is_wrong_upstream(parsed.text) else _OTHER)


def robustness_lines(rows: Sequence[KernelResult], specs: Specs) -> list[str]:
    """The section of the Markdown report."""
    note = robustness_note(rows, specs)
    if note is None:
        return ["No such case was run."]
    lines = [plain(f"{note}.")]
    for reason in reasons(rows, specs):
        names = list(reason.kernels)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        places = ", ".join(_place(place, specs) for place in sorted(reason.places) if place)
        about = f"{reason.failed:,} cases of {len(names)} kernels"
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
