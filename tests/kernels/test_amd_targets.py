"""The kernels as AMD code objects: every name, the argument layout, no register spills, no scratch memory.

One target by default. ``CANDLE_PARITY_AMD_TARGETS=all`` (or a comma-separated list) compiles for others, about a minute
each the first time. Nothing is executed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.port.amd_cache import compile_cached
from conformance.port.check.zero_sign import lost_signs
from conformance.port.code_objects import CodeObject, parse
from conformance.port.definitions.preprocess import HIP_DEFINES
from conformance.port.definitions.scan import scan_file
from conformance.port.signature import arguments, difference
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.toolchains.amd import find_toolchain
from conformance.toolchains.targets import DEFAULT_TARGETS, AmdError, targets_of

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "kernels"

SPECS = load_specs()
MODULES = tuple(SPECS.modules)

# The maximum block size of Candle's launches, by launch family, where it is not 1024.
BLOCK = {"softmax": 32, "dmmv": 32, "mmvq": 128, "mmq": 128, "indexed_moe_forward": 128}


def most_threads(kernel: Kernel) -> int:
    """The maximum block size of Candle's launches of this kernel."""
    few_warps = kernel.launch == "mmvq" and int(kernel.variant["ncols_y"]) > 4
    return 64 if few_warps else BLOCK.get(kernel.launch, 1024)


ZIGS = ("indexing", "reduce", "unary")
"""The modules that need most of the header and of the device libraries; all, if all targets are asked for."""

LAUNCHERS = ("moe", "mmq", "mmvq") if os.environ.get("CANDLE_PARITY_AMD_TARGETS") == "all" else ("moe",)
"""Files of host functions; the two that take longer if all targets are asked for."""

Compile = Callable[[str, str], CodeObject]


def targets() -> list[str]:
    asked = os.environ.get("CANDLE_PARITY_AMD_TARGETS", "gfx942")
    return list(DEFAULT_TARGETS) if asked == "all" else asked.split(",")


def of_module(module: str) -> dict[str, Kernel]:
    return {name: kernel for name, kernel in SPECS.kernels.items() if kernel.module == module}


def assert_complete(code: CodeObject, module: str) -> None:
    """Every kernel of ``module`` with Candle's arguments, nothing spilled or in scratch, and Candle's blocks."""
    wanted = of_module(module)
    assert code.kernels.keys() == wanted.keys()
    differences = {name: difference(kernel, arguments(code.kernels[name])) for name, kernel in wanted.items()}
    assert {name: said for name, said in differences.items() if said} == {}
    used = {name: (k.vgpr_spills, k.sgpr_spills, k.scratch) for name, k in code.kernels.items()}
    assert {name: row for name, row in used.items() if any(row)} == {}
    assert lost_signs(code) == []
    threads = {name: kernel.max_workgroup for name, kernel in code.kernels.items()}
    assert threads == {name: most_threads(kernel) for name, kernel in wanted.items()}


@pytest.fixture(scope="session")
def compiled() -> Compile:
    """The code object of a module for a target, from the cache where no file of it has changed."""
    wanted = targets_of(",".join(targets()))
    try:
        toolchain = find_toolchain(wanted)
    except AmdError as missing:
        pytest.skip(f"AMD TARGETS NOT COMPILED: {missing}")
    warnings = () if toolchain.minimal_headers else ("-Wall", "-Wextra", "-Werror")

    def compile_once(module: str, arch: str) -> CodeObject:
        target = next(item for item in wanted if item.name == arch)
        return parse(compile_cached(toolchain, KERNELS / f"{module}.hip", target, warnings).code, module)

    return compile_once


@pytest.mark.nightly("every file of kernels/ for five AMD targets")
@pytest.mark.parametrize("arch", targets())
@pytest.mark.parametrize("module", MODULES)
def test_compiles_for_the_target(compiled: Compile, module: str, arch: str) -> None:
    """No warnings, every kernel, no spills, no scratch, launch bounds that allow the blocks of Candle, and no product
    that loses the sign of zero."""
    code = compiled(module, arch)
    assert code.target == arch
    assert_complete(code, module)


@pytest.mark.nightly("every file of kernels/ for five AMD targets")
@pytest.mark.parametrize("arch", targets())
@pytest.mark.parametrize("module", LAUNCHERS)
def test_launchers_compile_for_the_target(compiled: Compile, module: str, arch: str) -> None:
    """The kernels that host functions launch: no warnings, no spills, no scratch."""
    if find_toolchain(targets_of(arch)).minimal_headers:
        pytest.skip("LAUNCHERS NOT COMPILED: host code needs HIP's own headers")
    kernels = compiled(module, arch).kernels
    assert kernels
    used = {name: (kernel.vgpr_spills, kernel.sgpr_spills, kernel.scratch) for name, kernel in kernels.items()}
    assert {name: row for name, row in used.items() if any(row)} == {}


def by_zig(module: str) -> CodeObject:
    """What zig's clang makes of ``module`` with the header of this package, for one target."""
    try:
        toolchain = find_toolchain(targets_of("gfx942"), ["zig"])
    except AmdError as missing:
        pytest.skip(f"NOT COMPILED BY ZIG'S CLANG: {missing}")
    (wanted,) = targets_of("gfx942")
    return parse(compile_cached(toolchain, KERNELS / f"{module}.hip", wanted).code, module)


@pytest.mark.nightly("every file of kernels/ for five AMD targets")
@pytest.mark.parametrize("module", MODULES if os.environ.get("CANDLE_PARITY_AMD_TARGETS") == "all" else ZIGS)
def test_zigs_clang_compiles_the_kernels_too(module: str) -> None:
    """Where no compiler is installed."""
    assert_complete(by_zig(module), module)


@pytest.mark.parametrize("module", tuple(SPECS.launcher_modules))
def test_zigs_clang_reads_the_kernels_of_launchers_too(module: str) -> None:
    """Not their host code, so that none is instantiated: the header of this package declares what they name."""
    assert by_zig(module).target == "gfx942"


@pytest.mark.slow("every file of kernels/ for five AMD targets")
@pytest.mark.parametrize("module", MODULES)
def test_parameters_are_called_as_in_the_specs(module: str) -> None:
    """Names and order of the parameters; their types are for ``check``. Needs no compiler for AMD targets."""
    found = scan_file(KERNELS / f"{module}.hip", [KERNELS], HIP_DEFINES).kernels
    reachable = {definition.name: definition for definition in found if definition.extern_c}
    assert {name: [param.name for param in definition.params] for name, definition in reachable.items()} == {
        name: [param.name for param in kernel.params] for name, kernel in of_module(module).items()
    }


def test_kernels_include_only_hip_and_their_own_headers() -> None:
    """hiprtc has no standard headers."""
    sources = [KERNELS / f"{module}.hip" for module in MODULES]
    seen = set(sources)
    while sources:
        source = sources.pop()
        for name in re.findall(r"#\s*include\s+(\S+)", source.read_text()):
            if name == "<hip/hip_runtime.h>":
                continue
            assert name.startswith('"'), f"{source.name} includes {name}"
            header = source.parent / name.strip('"')
            assert header.is_file(), f"{source.name} includes {name}, which is not there"
            if header not in seen:
                seen.add(header)
                sources.append(header)
    assert KERNELS / "include/types.h" in seen
