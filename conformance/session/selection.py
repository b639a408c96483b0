"""From the patterns of a command line to kernels and cases.

A pattern over cases, ``uexp_*(layout=transposed;*)``, is KERNEL(field=value;...;*): KERNEL is a glob; ``*`` and ``?``
in a value match any text; fields are separated by ``;`` or ``,`` and have no order; a last ``*`` stands for all other
fields, and without it there are no others.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from conformance.cases import FAMILIES, cases_for, has_cases, launch_for
from conformance.cases.case import MOST_CHARACTERS, Case
from conformance.errors import UsageError
from conformance.files import installed, spec_folder
from conformance.reading import shortened
from conformance.spec.entry import ROWS
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import counted, did_you_mean
from reference import has_module

if TYPE_CHECKING:
    from conformance.engine.modes import Tree

NOTHING_PINNED: Mapping[str, Sequence[Case]] = MappingProxyType({})
"""No pinned case of any kernel."""

_PART = re.compile(r"(?P<key>\w+)=(?P<value>\[[^\]]*\]|[^,;\[\]]*)(?:[,;]\s*|$)")
_REST = re.compile(r"\*[,;]?\s*$")
_GRAMMAR = "expected KERNEL(field=value;...;*), as uexp_*(layout=transposed;*)"


def specs_to_edit(arguments: argparse.Namespace) -> Path:
    """The folder of specs that a command reads, and changes if it has ``--write``: that of ``--specs``, else the
    shipped one.

    Raises ``UsageError`` where it would change the specs of an installation.
    """
    if arguments.specs is None and arguments.write and installed():
        raise UsageError(
            f"--write does not change an installation; copy {spec_folder()} (or take the specs of a checkout), and "
            "name that folder with --specs"
        )
    folder: Path = arguments.specs or spec_folder()
    return folder


def select(
    specs: Specs,
    patterns: Sequence[str],
    modules: Sequence[str] | None,
    launchers: bool = False,
    pinned: Mapping[str, Sequence[Case]] = NOTHING_PINNED,
) -> tuple[list[Kernel], dict[str, tuple[str, ...]]]:
    """The kernels that ``patterns`` select, and for some of them the case ids; the others are meant with all their
    cases.

    A pattern is a kernel glob, a full case id, or a pattern over cases; cases are the generated ones and those that are
    ``pinned``. With ``launchers`` the launchers are selected too, and follow the kernels. Raises ``SelectionError`` for
    a pattern that matches no kernel. Raises ``UsageError`` for one that matches no case, and for kernels that have no
    cases or cannot be judged.
    """
    modules = modules or ()
    cases: dict[str, list[str]] = {}
    globs: list[str] = []
    for pattern in patterns:
        if is_case_pattern(pattern):
            for kernel, ids in matching(specs, pattern, modules, launchers, pinned).items():
                cases.setdefault(kernel, []).extend(ids)
        elif "(" in pattern:
            cases.setdefault(pattern.split("(", 1)[0], []).append(pattern)
        else:
            globs.append(pattern)
    kernels = specs.select([*globs, *cases], modules, launchers)
    _check_complete([kernel for kernel in kernels if not kernel.is_host_function])
    whole = {kernel.name for kernel in specs.select(globs, modules, launchers)} if globs else set()
    return kernels, {name: tuple(dict.fromkeys(ids)) for name, ids in cases.items() if name not in whole}


def counts_by_entry(kernels: Sequence[Kernel]) -> list[str]:
    """Texts such as ``3 kernels``, ``1 launcher`` and ``4 library calls``, for each kind that is there."""
    counts = Counter(kernel.entry for kernel in kernels)
    return [counted(counts[entry], row.noun) for entry, row in ROWS.items() if counts[entry]]


def without_undefined(kernels: Sequence[Kernel], tree: Tree) -> list[Kernel]:
    """``kernels`` without library calls, and without Candle's launchers if no source of ``tree`` seems to define one.

    It is for selections without a pattern, where nobody asked for them by name. Launchers that the port excludes stay,
    so that the report has the reason.
    """
    # Here, for `list` does without it.
    from conformance.port.launchers import may_define
    from conformance.port.sources import find_sources

    kernels = [kernel for kernel in kernels if kernel.build is not None]
    excluded = {kernel.name for kernel in kernels if tree.declared.excluded(kernel.name) is not None}
    names = [tree.declared.names.port(kernel.name) for kernel in kernels if kernel.entry == "launcher"]
    defines_one = any(may_define(source, names, tree.options) for source in find_sources(tree.path))
    return [kernel for kernel in kernels if defines_one or kernel.entry != "launcher" or kernel.name in excluded]


def judgeable(kernels: Sequence[Kernel]) -> list[Kernel]:
    """``kernels`` without the port's own ones if ``--own`` was not given. If there are no others, all stay, so that
    each can say why it is not judged."""
    trusted = [kernel for kernel in kernels if not kernel.is_untrusted]
    return trusted or [*kernels]


def own_left_out(kernels: Sequence[Kernel]) -> str | None:
    """The sentence that ``judgeable`` leaves out some of ``kernels``; ``None`` where it leaves out none."""
    left = [kernel.name for kernel in kernels if kernel.is_untrusted]
    if not left or len(left) == len(kernels):
        return None
    many = len(left) > 1
    whose = f"the {len(left)} own kernels of the port are" if many else f"the port's own kernel {left[0]} is"
    return (
        f"{whose} not judged: give --own where you trust the port, whose reference functions are Python that runs "
        "outside of the sandbox"
    )


def print_left_out(sentence: str | None) -> None:
    """Print the sentence of ``own_left_out``, if there is one, to standard error."""
    if sentence is not None:
        print(f"candle-parity: {sentence}", file=sys.stderr)


def judges_own(kernels: Sequence[Kernel]) -> bool:
    """Whether own kernels of the port are among ``kernels`` and will be judged."""
    return any(kernel.own is not None and not kernel.is_untrusted for kernel in kernels)


def _check_complete(kernels: Sequence[Kernel]) -> None:
    """Raises ``UsageError`` for a kernel whose spec stands alone: without a launch family, or a reference module."""
    of_candle = {kernel.module for kernel in kernels if kernel.own is None}
    without = {module for module in of_candle if not has_module(module)}
    for kernel in kernels:
        if kernel.own is None and not has_cases(kernel):
            known = ", ".join(FAMILIES)
            raise UsageError(
                f"kernel {kernel.name} (specs/{kernel.module}.yaml): there is no launch family {kernel.launch!r} that "
                f"makes cases for it; name one of {known} with `launch:` in the spec, or add it in "
                "conformance/cases/families"
            )
        if kernel.module in without:
            raise UsageError(
                f"kernel {kernel.name} (specs/{kernel.module}.yaml): its module has no reference; add "
                f"reference/{kernel.module}.py with a function for each kernel family"
            )


def check_cases(
    specs: Specs, cases: dict[str, tuple[str, ...]], pinned: Mapping[str, Sequence[Case]] = NOTHING_PINNED
) -> None:
    """Raises ``UsageError`` for a case id in ``cases`` of which no launch can be made, and that is not ``pinned``."""
    for name, ids in cases.items():
        kernel = specs.entry(name)
        kept = {case.id for case in pinned.get(name, ())}
        for case_id in ids:
            if case_id in kept:
                continue
            try:
                if not has_cases(kernel):
                    raise ValueError(f"{name} has no cases yet")
                launch_for(kernel, Case.parse(case_id))
            except (ValueError, KeyError, MemoryError) as error:
                why = str(error).removeprefix(f"case {case_id}: ")
                raise UsageError(f"case {shortened(case_id)}: {shortened(why, 400)}{_near(kernel, case_id)}") from None


def _near(kernel: Kernel, case_id: str) -> str:
    """The case that may have been meant, else how to list them."""
    ids = [case.id for case in cases_for(kernel)] if has_cases(kernel) else []
    return did_you_mean(case_id, ids, cutoff=0.8) or f"; `candle-parity list {kernel.name} --cases` prints its cases"


@dataclass(frozen=True)
class CasePattern:
    """A pattern over cases: ``uexp_*(layout=transposed;*)``.

    ``kernel`` is the glob, ``fields`` has the pattern of a value by field. ``open`` says that a case may have other
    fields.
    """

    text: str
    kernel: str
    fields: dict[str, str]
    open: bool

    def matches(self, case: Case) -> bool:
        """Whether the fields of ``case`` match. Its kernel is not looked at."""
        fields = dict(case.fields)
        if not self.open and fields.keys() != self.fields.keys():
            return False
        return all(key in fields and _glob(value).fullmatch(fields[key]) for key, value in self.fields.items())


def is_case_pattern(text: str) -> bool:
    """Whether ``text`` is a pattern over cases, and neither a kernel glob nor the id of one case."""
    kernel, bracket, inner = text.partition("(")
    return bool(bracket) and (bool(set(kernel) & set("*?[")) or bool(set(inner) & set("*?;")))


def parse_case_pattern(text: str) -> CasePattern:
    """The pattern over cases that ``text`` spells. Raises ``UsageError``."""
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


def matching(
    specs: Specs,
    text: str,
    modules: Sequence[str],
    launchers: bool = False,
    pinned: Mapping[str, Sequence[Case]] = NOTHING_PINNED,
) -> dict[str, tuple[str, ...]]:
    """The ids of the cases that the pattern over cases ``text`` selects, by kernel.

    Cases without a part in the verdict are only among them if no other case matches. Raises ``SelectionError`` where no
    kernel matches and ``UsageError`` where no case does; the message names what is near.
    """
    # Here, for names of kernels do without it.
    from conformance.verdict.trials import generated_parts

    pattern = parse_case_pattern(text)
    kernels = [kernel for kernel in specs.select([pattern.kernel], modules, launchers) if has_cases(kernel)]
    judged: dict[str, tuple[str, ...]] = {}
    others: dict[str, tuple[str, ...]] = {}
    for kernel in kernels:
        parts = generated_parts(kernel)
        for cases, chosen in (((*parts.judged, *pinned.get(kernel.name, ())), judged), (parts.others, others)):
            mine = tuple(case.id for case in cases if pattern.matches(case))
            if mine:
                chosen[kernel.name] = mine
    if not judged and not others:
        raise UsageError(_nothing(pattern, kernels, pinned))
    return judged or others


def _nothing(pattern: CasePattern, kernels: Sequence[Kernel], pinned: Mapping[str, Sequence[Case]]) -> str:
    where = kernels[0].name if len(kernels) == 1 else f"{len(kernels)} kernels"
    said = f"pattern {shortened(pattern.text)!r} matches no case of {where}"
    values: dict[str, set[str]] = {}
    for kernel in kernels:
        for case in (*cases_for(kernel), *pinned.get(kernel.name, ())):
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


def _glob(pattern: str) -> re.Pattern[str]:
    """``pattern`` with ``*`` and ``?``; brackets are those of a list."""
    return re.compile("".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in pattern), re.DOTALL)
