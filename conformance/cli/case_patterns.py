"""Patterns over cases: ``uexp_*(layout=transposed;*)``.

KERNEL(field=value;...;*): KERNEL is a glob; ``*`` and ``?`` in a value match any text; fields are separated by ``;`` or
``,`` and have no order; a last ``*`` stands for all other fields, and without it there are no others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.cases import cases_for, has_cases
from conformance.cases.case import MOST_CHARACTERS, Case
from conformance.cli.usage import UsageError
from conformance.reading import shortened
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs, did_you_mean
from conformance.verdict.trials import generated_parts

_PART = re.compile(r"(?P<key>\w+)=(?P<value>\[[^\]]*\]|[^,;\[\]]*)(?:[,;]\s*|$)")
_REST = re.compile(r"\*[,;]?\s*$")
_GRAMMAR = "expected KERNEL(field=value;...;*), as uexp_*(layout=transposed;*)"


@dataclass(frozen=True)
class CasePattern:
    """``kernel`` is a glob, ``fields`` have the pattern of a value by field, ``open`` says that others may be there."""

    text: str
    kernel: str
    fields: dict[str, str]
    open: bool

    def matches(self, case: Case) -> bool:
        """Whether ``case``, of a kernel that matches, has the fields."""
        fields = dict(case.fields)
        if not self.open and fields.keys() != self.fields.keys():
            return False
        return all(key in fields and _glob(value).fullmatch(fields[key]) for key, value in self.fields.items())


def is_case_pattern(text: str) -> bool:
    """Whether ``text`` is a pattern over cases, and neither a kernel glob nor the id of one case."""
    kernel, bracket, inner = text.partition("(")
    return bool(bracket) and (bool(set(kernel) & set("*?[")) or bool(set(inner) & set("*?;")))


def parse_case_pattern(text: str) -> CasePattern:
    """The pattern that ``text`` is; raises ``UsageError``."""
    kernel, _, inner = text.partition("(")
    if not text.endswith(")") or len(text) > MOST_CHARACTERS:
        raise UsageError(f"{shortened(text)!r} is not a pattern over cases; {_GRAMMAR}")
    rest, position = inner[:-1], 0
    fields: dict[str, str] = {}
    opened = False
    while position < len(rest):
        if _REST.match(rest, position):
            opened = True
            break
        part = _PART.match(rest, position)
        if part is None or part["key"] in fields:
            what = "a field is given twice" if part is not None else f"cannot read {rest[position:]!r} as field=value"
            raise UsageError(f"{shortened(text)!r} is not a pattern over cases: {shortened(what)}; {_GRAMMAR}")
        fields[part["key"]] = part["value"]
        position = part.end()
    return CasePattern(text, kernel, fields, opened)


def matching(specs: Specs, text: str, modules: Sequence[str], launchers: bool = False) -> dict[str, tuple[str, ...]]:
    """The ids of the cases that the pattern ``text`` names, by kernel: those that have a part in the verdict, and the
    others only where there is none of these.

    Raises ``SelectionError`` where no kernel matches and ``UsageError`` where no case does, with what is near.
    """
    pattern = parse_case_pattern(text)
    kernels = [kernel for kernel in specs.select([pattern.kernel], modules, launchers) if has_cases(kernel)]
    judged: dict[str, tuple[str, ...]] = {}
    others: dict[str, tuple[str, ...]] = {}
    for kernel in kernels:
        parts = generated_parts(kernel)
        for cases, chosen in ((parts.judged, judged), (parts.others, others)):
            mine = tuple(case.id for case in cases if pattern.matches(case))
            if mine:
                chosen[kernel.name] = mine
    if not judged and not others:
        raise UsageError(_nothing(pattern, kernels))
    return judged or others


def _nothing(pattern: CasePattern, kernels: Sequence[Kernel]) -> str:
    said = f"pattern {shortened(pattern.text)!r} matches no case of {_counted(kernels)}"
    values: dict[str, set[str]] = {}
    for kernel in kernels:
        for case in cases_for(kernel):
            for key, value in case.fields:
                values.setdefault(key, set()).add(value)
    for key, value in pattern.fields.items():
        if key not in values:
            near = did_you_mean(key, values)
            return f"{said}: none has a field {key!r}{near}; their fields are {', '.join(sorted(values))}"
        if not any(_glob(value).fullmatch(one) for one in values[key]):
            near = did_you_mean(value, sorted(values[key]), most=3, cutoff=0.5)
            some = ", ".join(sorted(values[key], key=lambda one: (len(one), one))[:8])
            return f"{said}: none has {key}={shortened(value)}{near or f'; there are {some}'}"
    if pattern.open:
        return f"{said}: none has all of these fields at once"
    return f"{said}; end it with ;* where a case may have other fields too"


def _counted(kernels: Sequence[Kernel]) -> str:
    return kernels[0].name if len(kernels) == 1 else f"{len(kernels)} kernels"


def _glob(pattern: str) -> re.Pattern[str]:
    """``pattern`` with ``*`` and ``?``; brackets are those of a list."""
    return re.compile("".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in pattern), re.DOTALL)
