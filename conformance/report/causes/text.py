"""Causes as text: lines for the terminal, a section of the Markdown report, and by kernel."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from conformance.outcome import Failure
from conformance.record import KernelResult
from conformance.report.causes.find import UNKNOWN, Finding, Share, deciding_trait, find_causes
from conformance.report.causes.gain import propose
from conformance.spec.load import Specs
from conformance.text import counted, one_line, plain, shortened

SCREEN = 48
"""Lines of a terminal that causes may take."""

WIDTH = 118

_LINE = re.compile(r"\bat ((?!/)[^\s:,]+\.\w+:\d+)")

_DETAIL = 300
"""Characters of a compiler's error."""

_NAMED = 4
"""Kernels that are named; of more the families are counted."""


def cause_lines(findings: Sequence[Finding], limit: int = SCREEN, width: int = WIDTH) -> list[str]:
    """``findings`` in at most ``limit`` lines of at most ``width`` characters; no line without findings.

    Causes that should be mended first come first. If there is too little room, the advice is left out first.
    """
    if not findings:
        return []
    head = heading(findings)
    proposal = propose(findings)
    if proposal is not None:
        head = f"{head}; {proposal}"
        first = [step.finding for step in proposal.steps]
        findings = [*first, *(finding for finding in findings if finding not in first)]
    blocks = [_block(finding, width) for finding in findings]
    if 1 + sum(map(len, blocks)) > limit:
        blocks = [
            block if finding.cause is UNKNOWN else block[: -_advising(finding)]
            for finding, block in zip(findings, blocks, strict=True)
        ]
    lines = [f"{head}:"]
    for number, block in enumerate(blocks):
        more = len(blocks) - number
        if len(lines) + len(block) + (more > 1) > limit:
            lines.append(f"... and {counted(more, 'cause')} more; --md F writes them all")
            break
        lines += block
    return lines


def heading(findings: Sequence[Finding]) -> str:
    """How many causes there are, and of how many kernels."""
    names = {share.kernel.name for finding in findings for share in finding.shares}
    return f"{counted(len(findings), 'cause')} of {counted(len(names), findings[0].what)} that fail{_s(len(names))}"


def _block(finding: Finding, width: int) -> list[str]:
    """The lines of one cause; what fits on one line is put there."""
    first, *rest = map(one_line, described(finding))
    lines = [f"  {first}"]
    facts = len(rest) - _advising(finding)
    for number, text in enumerate(rest):
        joined = f"{lines[-1]}; {text}"
        if 0 < number < facts and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(f"      {text}")
    return [shortened(line, width) for line in lines]


def _advising(finding: Finding) -> int:
    """How many of the last lines of ``described`` say what to do, or which case is first."""
    return 1 + len(finding.declaration)


def described(finding: Finding) -> list[str]:
    """A cause in a few lines: title, kernels, evidence, what to do, and the lines for candle-parity.toml that do it, if
    there are any."""
    cause = finding.cause
    lines = [marked_title(finding), f"{kernels(finding)}{_first_place(finding)}"]
    found = evidence(finding)
    lines += [text for text in (found, finding.age) if text]
    if cause is UNKNOWN:
        lines.append(f"first: {_first_case(finding.shares[0])}")
    else:
        lines += [f"to do: {finding.advice}", *finding.declaration]
    return lines


def marked_title(finding: Finding) -> str:
    """The ``title`` with the bug class: ``48 kernels: A null input is dereferenced [S06]``."""
    mark = f" [{finding.cause.bug_class}]" if finding.cause.bug_class else ""
    return f"{title(finding)}{mark}"


def title(finding: Finding) -> str:
    """The number of kernels and the cause: ``48 kernels: A null input is dereferenced``. A compile error has its
    places, or the number of files."""
    several = f" in {finding.files:,} files" if finding.files > 1 else ""
    detail = "" if finding.declaration else shortened(finding.detail, _DETAIL)
    parts = [f"{finding.cause.title}{several}", finding.place, detail]
    named = ": ".join(part for part in parts if part)
    return f"{counted(len(finding.shares), finding.what)}: {named}"


def _first_case(share: Share) -> str:
    """A case of the cause and why it fails; its id alone where the record shows the failures of other cases only."""
    case = next((failure for failure in share.kernel.failures if _is_of(failure, share)), None)
    if case is not None:
        return f"{case.case}: {case.why}"
    name = share.kernel.name
    return f"{name}({share.cases[0].text})" if share.cases else f"{name}: {share.kernel.message}"


def _is_of(failure: Failure, share: Share) -> bool:
    return any(failure.case.endswith(f"({case.text})") for case in share.cases)


def kernels(finding: Finding) -> str:
    """The kernels by name; many by family."""
    rows = [share.kernel for share in finding.shares]
    if len(rows) <= _NAMED:
        return ", ".join(row.name for row in rows)
    counts = Counter(row.family if row.family == row.module else f"{row.module}/{row.family}" for row in rows)
    return ", ".join(f"{count} {family}" for family, count in counts.most_common())


def evidence(finding: Finding) -> str:
    """Which cases fail and which pass, in words; "" where no case was run."""
    if not finding.failed:
        return ""
    passed = sum(len(share.passed) for share in finding.shares)
    deciding = deciding_trait(finding)
    if deciding is None:
        return f"{counted(finding.failed, 'case')} fail{_s(finding.failed)}, {passed:,} pass"
    trait, failed, with_it = deciding
    others = passed - with_it
    if not with_it:
        every = f"all {failed:,} cases" if failed > 1 else "the one case"
        return f"{every} with {trait} fail{_s(failed)}, the other {others:,} pass"
    return f"{counted(failed, 'case')} fail{_s(failed)}, all with {trait}; with it {with_it:,} pass, without {others:,}"


def _first_place(finding: Finding) -> str:
    """Where the first kernel is, or the line of the port's that the message about its fault names; of an error of the
    compiler in several files the first place."""
    if finding.places:
        return f"; first at {finding.places[0]}" if finding.files > 1 else ""
    first = finding.shares[0]
    named = (
        _LINE.search(failure.why)
        for failure in first.kernel.failures
        if finding.cause.faults and _is_of(failure, first)
    )
    place = next((match[1] for match in named if match), first.kernel.source)
    return f"; first at {place}" if place else ""


def _s(count: int) -> str:
    return "s" if count == 1 else ""


Rows = Sequence[Sequence[KernelResult]]


def cause_section(names: Sequence[str], rows: Rows, specs: Specs, title: str = "Causes") -> list[str]:
    """The section of the Markdown report; empty where no kernel fails."""
    lines: list[str] = []
    for name, findings in shared_causes(names, rows, specs):
        lines += [
            "",
            f"## {title}{f': {plain(name)}' if len(names) > 1 else ''}",
            "",
            f"{plain(heading(findings))}:",
            "",
        ]
        for finding in findings:
            first, *rest = described(finding)
            told = rest[: len(rest) - len(finding.declaration)]
            lines += [f"- **{plain(first)}**", *(f"  - {plain(text)}" for text in [*told, *every_name(finding)])]
            if finding.declaration:
                lines += ["", "  ```toml", *(f"  {line}" for line in finding.declaration), "  ```", ""]
    return lines


def shared_causes(names: Sequence[str], rows: Rows, specs: Specs) -> list[tuple[str, list[Finding]]]:
    """The causes of each run. Runs with the same causes share an entry, which names them all."""
    groups: list[tuple[str, list[Finding]]] = []
    for name, part in zip(names, rows, strict=True):
        findings = find_causes(part, specs)
        same = next((at for at, (_, other) in enumerate(groups) if _told(other) == _told(findings)), None)
        if not findings:
            continue
        if same is None:
            groups.append((name, findings))
        else:
            groups[same] = (f"{groups[same][0]}, {name}", groups[same][1])
    return groups


def _told(findings: Sequence[Finding]) -> list[tuple[str, ...]]:
    return [
        (
            *described(finding)[: None if finding.cause is not UNKNOWN else -1],
            *(share.kernel.name for share in finding.shares),
        )
        for finding in findings
    ]


def every_name(finding: Finding) -> list[str]:
    """The names of all kernels, for where ``described`` only counts them."""
    names = [share.kernel.name for share in finding.shares]
    return [", ".join(names)] if names[0] not in described(finding)[1] else []
