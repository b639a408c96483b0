"""``candle-parity new``."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from conformance.cli.selecting import specs_to_edit
from conformance.cli.usage import UsageError
from conformance.files import installed
from conformance.record.files import write_text
from conformance.spec.errors import SpecError
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs, load_specs
from conformance.upstream.like import Addition, additions_like, check_new, what_else


def command(arguments: argparse.Namespace) -> int:
    folder = specs_to_edit(arguments)
    specs = load_specs(folder)
    chosen = specs.select([arguments.like])
    if len(chosen) > 1:
        names = ", ".join(kernel.name for kernel in chosen[:4])
        raise UsageError(f"--like {arguments.like} matches {len(chosen)} kernels ({names}); name one")
    like = chosen[0]
    check_new(specs, folder, arguments.name)
    addition = _first_that_loads(folder, specs, arguments.name, like, arguments.line)
    shipped = installed() and arguments.specs is None
    place = f"{f'specs/{addition.path.name}' if shipped else os.path.relpath(addition.path)}:{addition.line}"
    if arguments.write:
        write_text(addition.path, addition.text)
        print(f"# wrote {place} ({addition.kind})")
    else:
        where = "into a copy that --specs names" if shipped else "there"
        print(f"# for {place} ({addition.kind}); --write puts it {where}")
    print(addition.shown)
    print("\n# what else is needed")
    for step in what_else(addition, arguments.name, like):
        print(f"#   {step}")
    return 0


def _first_that_loads(folder: Path, specs: Specs, name: str, like: Kernel, line: int) -> Addition:
    """The smallest addition with which the specs load and have the kernel; raises ``SpecError`` when none does."""
    problem: SpecError | None = None
    for addition in additions_like(folder, specs, name, like, line):
        with tempfile.TemporaryDirectory(prefix="candle-parity-") as trial:
            for path in folder.glob("*.yaml"):
                text = addition.text if path == addition.path else path.read_text(encoding="utf-8")
                (Path(trial) / path.name).write_text(text, encoding="utf-8")
            try:
                if name in load_specs(Path(trial)).kernels:
                    return addition
            except SpecError as error:
                problem = SpecError(addition.path, error.line, error.problem, error.remedy)
    raise problem or SpecError(folder / f"{like.module}.yaml", None, f"cannot hold {name!r}", "edit the spec by hand")
