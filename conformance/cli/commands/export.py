"""``candle-parity export``."""

from __future__ import annotations

import argparse

import numpy as np

from conformance.cases.case import Case
from conformance.cli.goldens import golden_bytes
from conformance.cli.progressing import progress
from conformance.cli.selecting import check_cases, select
from conformance.cli.usage import UsageError
from conformance.record import write_bytes
from conformance.spec.load import load_specs
from conformance.verdict.trials import generated, generated_parts


def command(arguments: argparse.Namespace) -> int:
    """A file per kernel: one of all kernels would be 600 MB, and one per case 20,000 files.

    Raises ``UsageError`` where nothing is left to write.
    """
    specs = load_specs(arguments.specs)
    kernels, chosen = select(specs, arguments.patterns, arguments.module, launchers=True)
    check_cases(specs, chosen)
    files = cases = size = faults = 0
    with progress() as on_progress, np.errstate(all="ignore"):
        for done, kernel in enumerate(kernels):
            on_progress("writing", done, len(kernels))
            asked = tuple(map(Case.parse, chosen.get(kernel.name, ()))) or generated_parts(kernel).judged
            made = [case for case in generated(kernel, asked, arguments.seed_salt) if not case.must_fault]
            faults += len(asked) - len(made)
            if not made:
                continue
            data = golden_bytes(kernel, made, specs.upstream_commit, arguments.seed_salt)
            write_bytes(arguments.safetensors / kernel.module / f"{kernel.name}.safetensors", data)
            files, cases, size = files + 1, cases + len(made), size + len(data)
    if not files:
        raise UsageError(f"nothing was written: the right end of the {faults} selected cases is a fault")
    left_out = f"; {faults} cases whose right end is a fault are left out" if faults else ""
    print(f"wrote {files} files with {cases} cases ({size / 1e6:.1f} MB) to {arguments.safetensors}{left_out}")
    return 0
