"""A ROCm without a GPU: the stand-in's libraries in a folder such as /opt/rocm, and code objects for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.port.signature import expected_arguments
from conformance.spec.kernel import Kernel
from conformance.toolchains.host import find_toolchain
from tests.port import elf

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ARCH = "gfx942:sramecc+:xnack-"
"""The device's, unless STAND_IN_HIP_DEVICES names others."""

FAULT_LINE = (
    "Memory access fault by GPU node-1 (Agent handle: 0x55ac14d27600) on address 0x7f9587e00000. "
    "Reason: Page not present or supervisor privilege."
)
"""ROCr's about an abort or code 700; the line about another code holds ``HSA_STATUS_ERROR_EXCEPTION``."""

VARIABLES = tuple(f"STAND_IN_HIP_{name}" for name in ("DEVICES", "INIT", "HANGING", "FAULTS", "HOST_FUNCTIONS", "ONCE"))


def build_stand_in(folder: Path) -> Path:
    """``folder`` as a ROCm of its own (``ROCM_PATH``); raises ``NoCompiler``."""
    compiler = find_toolchain(links_standard_library=True).compiler
    include, headers = ROOT / "conformance/runtimes/cpu/runtime", ROOT / "conformance/runtimes/cpu/include"
    (folder / "lib").mkdir(parents=True)
    for name, words in {"libamdhip64": [], "libhiprtc": ["-DSTAND_IN_HIPRTC"]}.items():
        library = folder / f"lib/{name}.so.7"
        command = [
            *compiler,
            "-std=c++20",
            "-O1",
            "-fPIC",
            "-pthread",
            "-shared",
            "-fvisibility=hidden",
            f"-I{include}",
            f"-I{headers}",
            *words,
        ]
        command += [f"-Wl,-soname,{name}.so.7", str(HERE / "stand_in_hip.cpp"), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (folder / f"lib/{name}.so").symlink_to(library.name)
    return folder


def kernel_row(kernel: Kernel, changed: Mapping[int, tuple[int, int, str]] | None = None, **changes: int) -> object:
    """The metadata of ``kernel`` with the arguments of its spec, but ``changed`` ones (offset, size, kind) by position;
    ``changes`` are other keys, such as ``max_flat_workgroup_size``."""
    rows = [(argument.offset, argument.size, argument.kind) for argument in expected_arguments(kernel)]
    for position, row in (changed or {}).items():
        rows[position] = row
    return elf.kernel_row(kernel.name, rows, **changes)


@dataclass(frozen=True)
class Ran:
    """What a command wrote, and the record's kernels and launchers by name."""

    code: int
    out: str
    err: str
    kernels: dict[str, dict[str, Any]]

    def why(self, name: str) -> str:
        """What the record says of the first failure of kernel ``name``."""
        return str(self.kernels[name]["failures"][0]["why"])


def run(folder: Path, *words: str, **environment: str) -> Ran:
    """``candle-parity run --runtime rocm`` in ``folder`` on its ``kernels``; the stand-in is what ROCM_PATH names."""
    record = folder / "record.json"
    command = [sys.executable, "-m", "conformance.cli.main", "run", "--runtime", "rocm", "--kernels", "kernels"]
    done = subprocess.run(
        [*command, "--json", str(record), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CANDLE_PARITY_HANG_SECONDS": "20", **environment},
    )
    told = json.loads(record.read_text()) if record.is_file() else {}
    rows = [*told.get("kernels", ()), *told.get("launchers", ())]
    return Ran(done.returncode, done.stdout, done.stderr, {row["name"]: row for row in rows})


def code_object(rows: Sequence[object], target: str = "gfx942") -> bytes:
    """A code object for ``target`` with the kernels that ``rows`` describe."""
    return elf.code_object(elf.metadata(target, rows))  # type: ignore[arg-type]
