"""From the patterns of a command line to kernels and cases."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from conformance.cases import FAMILIES, cases_for, has_cases, launch_for
from conformance.cases.case import Case
from conformance.cli.case_patterns import is_case_pattern, matching
from conformance.cli.usage import UsageError
from conformance.engine.modes import Tree
from conformance.files import installed, spec_folder
from conformance.port.launchers import may_define
from conformance.reading import shortened
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs, did_you_mean
from reference import has_module


def specs_to_edit(arguments: argparse.Namespace) -> Path:
    """The folder of the specs that a command reads and, with ``--write``, changes: ``--specs``, else the shipped ones.

    Raises ``UsageError`` where those of an installation would be changed.
    """
    if arguments.specs is None and arguments.write and installed():
        raise UsageError(
            f"--write does not change an installation; copy {spec_folder()} (or take the specs of a checkout), and "
            "name that folder with --specs"
        )
    folder: Path = arguments.specs or spec_folder()
    return folder


def select(
    specs: Specs, patterns: Sequence[str], modules: Sequence[str] | None, launchers: bool = False
) -> tuple[list[Kernel], dict[str, tuple[str, ...]]]:
    """The kernels that ``patterns`` name, and the case ids asked for by kernel (absent: all its cases). With
    ``launchers`` those too, behind the kernels.

    A pattern is a kernel glob, a full case id, or a pattern over cases (``conformance.cli.case_patterns``). Raises
    ``SelectionError`` when one matches no kernel, and ``UsageError`` when one matches no case, and for kernels that no
    case can be made or judged for.
    """
    modules = modules or ()
    cases: dict[str, list[str]] = {}
    globs: list[str] = []
    for pattern in patterns:
        if is_case_pattern(pattern):
            for kernel, ids in matching(specs, pattern, modules, launchers).items():
                cases.setdefault(kernel, []).extend(ids)
        elif "(" in pattern:
            cases.setdefault(pattern.split("(", 1)[0], []).append(pattern)
        else:
            globs.append(pattern)
    kernels = specs.select([*globs, *cases], modules, launchers)
    _check_complete([kernel for kernel in kernels if not kernel.is_launcher])
    whole = {kernel.name for kernel in specs.select(globs, modules, launchers)} if globs else set()
    return kernels, {name: tuple(dict.fromkeys(ids)) for name, ids in cases.items() if name not in whole}


def without_undefined(kernels: Sequence[Kernel], tree: Tree) -> list[Kernel]:
    """``kernels`` without the launchers where no source of ``tree`` may define one: nobody asked for them by name."""
    names = [tree.declared.names.port(kernel.name) for kernel in kernels if kernel.is_launcher]
    found = any(may_define(source, names, tree.options) for source in tree.sources)
    return [kernel for kernel in kernels if found or not kernel.is_launcher]


def _check_complete(kernels: Sequence[Kernel]) -> None:
    """Raises ``UsageError`` for a kernel whose spec stands alone: without a launch family, or a reference module."""
    for kernel in kernels:
        if not has_cases(kernel):
            known = ", ".join(FAMILIES)
            raise UsageError(
                f"kernel {kernel.name} (specs/{kernel.module}.yaml): there is no launch family {kernel.launch!r} that "
                f"makes cases for it; name one of {known} with `launch:` in the spec, or add it in "
                "conformance/cases/families"
            )
        if not has_module(kernel.module):
            raise UsageError(
                f"kernel {kernel.name} (specs/{kernel.module}.yaml): its module has no reference; add "
                f"reference/{kernel.module}.py with a function for each kernel family"
            )


def check_cases(specs: Specs, cases: dict[str, tuple[str, ...]]) -> None:
    """Raises ``UsageError`` for a case id that cannot be built."""
    for name, ids in cases.items():
        kernel = specs.entry(name)
        for case_id in ids:
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
