"""Specs of a few modules, for tests that need not every kernel."""

from __future__ import annotations

from dataclasses import replace

from conformance.spec.load import Specs


def some_modules(specs: Specs, *names: str) -> Specs:
    """``specs`` with the kernels of these modules only; launchers and library calls stay."""
    kernels = {name: kernel for name, kernel in specs.kernels.items() if kernel.module in names}
    return replace(specs, kernels=kernels, modules={name: specs.modules[name] for name in names})
