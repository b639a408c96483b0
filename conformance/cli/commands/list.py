"""``candle-parity list``."""

from __future__ import annotations

import argparse
import json

from tabulate import tabulate

from conformance.cases import cases_for
from conformance.cli.selecting import check_cases, select
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    kernels, chosen = select(specs, arguments.patterns, arguments.module)
    check_cases(specs, chosen)
    counts = {kernel.name: len(chosen.get(kernel.name, cases_for(kernel))) for kernel in kernels}
    if arguments.json:
        print(json.dumps({"kernels": [_row(kernel, counts[kernel.name]) for kernel in kernels]}, indent=1))
        return 0
    rows = [(kernel.module, kernel.name, counts[kernel.name], _parameters(kernel)) for kernel in kernels]
    print(tabulate(rows, headers=("module", "kernel", "cases", "parameters")))
    print(f"\n{len(kernels)} kernels, {sum(counts.values())} cases")
    return 0


def _row(kernel: Kernel, cases: int) -> dict[str, object]:
    params = [{"name": p.name, "dtype": p.dtype, "pointer": p.pointer} for p in kernel.params]
    return {"name": kernel.name, "module": kernel.module, "family": kernel.family, "cases": cases, "params": params}


def _parameters(kernel: Kernel) -> str:
    return ", ".join(f"{p.name}: {p.dtype.rstrip('*')}{'*' if p.pointer else ''}" for p in kernel.params)
