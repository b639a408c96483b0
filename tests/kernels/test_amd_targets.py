"""The kernels as AMD code objects: every name, the argument layout, no register spills, no scratch.

One target by default. ``CANDLE_PARITY_AMD_TARGETS=all`` (or a comma-separated list) compiles for others, about twenty
seconds each. Only code is made here: nothing runs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amd_toolchain
import pytest

from conformance.dtypes import dtype

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "kernels"
FACTS = ROOT.parent / "shared/candle/kernels.json"

# Module to its number of kernels.
MODULES = {"affine": 10, "unary": 123, "binary": 96, "cast": 58, "ternary": 26, "fill": 24, "indexing": 125, "conv": 66}

Compile = Callable[[str, str], dict[str, dict[str, Any]]]


def targets() -> list[str]:
    asked = os.environ.get("CANDLE_PARITY_AMD_TARGETS", "gfx942")
    return list(amd_toolchain.ISA_VERSION) if asked == "all" else asked.split(",")


@pytest.fixture(scope="session")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a module for a target, once, and reads its kernels' metadata."""
    scratch = tmp_path_factory.mktemp("amd")
    try:
        toolchain = amd_toolchain.find(scratch)
    except amd_toolchain.NoToolchain as missing:
        pytest.skip(f"AMD TARGETS NOT COMPILED: {missing}")
    known: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}

    def compile_once(module: str, arch: str) -> dict[str, dict[str, Any]]:
        if (module, arch) not in known:
            output = scratch / f"{module}-{arch}.hsaco"
            toolchain.compile(KERNELS / f"{module}.hip", arch, output)
            known[module, arch] = toolchain.kernels(output)
        return known[module, arch]

    return compile_once


@pytest.mark.parametrize("arch", targets())
@pytest.mark.parametrize("module", MODULES)
def test_compiles_for_the_target(metadata: Compile, module: str, arch: str) -> None:
    """Warning-free, complete, nothing spilled or in scratch, and launchable with 1024 threads as Candle does."""
    kernels = metadata(module, arch)
    assert len(kernels) == MODULES[module]
    for key in (".vgpr_spill_count", ".sgpr_spill_count", ".private_segment_fixed_size"):
        assert {name: kernel[key] for name, kernel in kernels.items() if kernel[key]} == {}, key
    assert {kernel[".max_flat_workgroup_size"] for kernel in kernels.values()} == {1024}
    if FACTS.exists():
        expected = {
            n: k["params"] for n, k in json.loads(FACTS.read_text())["kernels"].items() if k["module"] == module
        }
        assert {name: argument_layout(kernel) for name, kernel in kernels.items()} == {
            name: [("global_buffer", 8) if p["pointer"] else ("by_value", dtype(p["dtype"]).size) for p in params]
            for name, params in expected.items()
        }


def argument_layout(kernel: dict[str, Any]) -> list[tuple[str, int]]:
    """Kind and bytes of each argument that the caller passes."""
    shown = [a for a in kernel[".args"] if not a[".value_kind"].startswith("hidden_")]
    return [(a[".value_kind"], a[".size"]) for a in shown]


def parameters(source: str) -> dict[str, list[str]]:
    """Kernel name to its parameters as written, from preprocessed-by-hand macro rows: ``affine_f32 -> [...]``."""
    found: dict[str, list[str]] = {}
    for macro, formals, body in re.findall(r"#define (\w+)\(([^)]*)\)((?:.*\\\n)+.*)", source):
        text = body.replace("\\\n", " ")
        head = re.search(r"__launch_bounds__\(1024\)\s+([\w#]+)\(([^{]*)\)\s*\{", text)
        assert head, f"macro {macro} does not define a kernel"
        for row in re.findall(rf"^(?!#).*?\b{macro}\(.*$", source, re.MULTILINE):
            for call in re.findall(rf"\b{macro}\(([^)]*)\)", row):
                actual = dict(zip(formals.replace(" ", "").split(","), call.replace(" ", "").split(","), strict=True))
                name = "".join(actual.get(part, part) for part in head[1].split("##"))
                found[name] = [
                    " ".join(actual.get(word, word) for word in re.findall(r"\w+|\*", parameter))
                    for parameter in head[2].split(",")
                ]
    return found


@pytest.mark.skipif(not FACTS.exists(), reason=f"PARAMETERS NOT CHECKED: no {FACTS}")
@pytest.mark.parametrize("module", MODULES)
def test_names_and_parameters_are_those_of_candle(module: str) -> None:
    """Names, order and types of the parameters, read from the macro rows; needs no compiler."""
    spelling = {"f8_e4m3": "f8e4m3", "fp8_e4m3": "f8e4m3"}
    got = {
        name: [
            (words[-1], spelling.get(kind, kind), "*" in words)
            for words in (p.split() for p in params)
            for kind in [next(w for w in words if w != "const")]
        ]
        for name, params in parameters((KERNELS / f"{module}.hip").read_text()).items()
    }
    facts = {n: k["params"] for n, k in json.loads(FACTS.read_text())["kernels"].items() if k["module"] == module}
    assert got == {n: [(p["name"], p["dtype"], p["pointer"]) for p in params] for n, params in facts.items()}


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
