"""From the patterns of a command line to kernels and cases."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from conformance.cases import FAMILIES, has_cases, launch_for
from conformance.cases.case import Case
from conformance.cli.usage import UsageError
from conformance.files import installed, spec_folder
from conformance.reading import shortened
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
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
    specs: Specs, patterns: Sequence[str], module: str | None
) -> tuple[list[Kernel], dict[str, tuple[str, ...]]]:
    """The kernels that ``patterns`` name, and the case ids asked for by kernel (absent: all its cases).

    A pattern is a kernel glob or a full case id. Raises ``SelectionError`` when one matches nothing, and ``UsageError``
    for a case id whose kernel is itself a glob, and for kernels that no case can be made or judged for.
    """
    cases: dict[str, list[str]] = {}
    globs: list[str] = []
    for pattern in patterns:
        if "(" in pattern:
            kernel = pattern.split("(", 1)[0]
            if set(kernel) & set("*?["):
                raise UsageError(
                    f"case id {shortened(pattern)!r}: {kernel!r} is a pattern, and a case id names one kernel; give a "
                    "kernel's name before the parenthesis, or the pattern alone for all its cases"
                )
            cases.setdefault(kernel, []).append(pattern)
        else:
            globs.append(pattern)
    kernels = specs.select([*globs, *cases], module)
    _check_complete(kernels)
    whole = {kernel.name for kernel in specs.select(globs, module)} if globs else set()
    return kernels, {name: tuple(ids) for name, ids in cases.items() if name not in whole}


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
        kernel = specs.kernels[name]
        for case_id in ids:
            try:
                if not has_cases(kernel):
                    raise ValueError(f"{name} has no cases yet")
                launch_for(kernel, Case.parse(case_id))
            except (ValueError, KeyError, MemoryError) as error:
                why = str(error).removeprefix(f"case {case_id}: ")
                hint = f"`candle-parity list {name} --json` counts its cases"
                raise UsageError(f"case {shortened(case_id)}: {shortened(why, 400)}; {hint}") from None
