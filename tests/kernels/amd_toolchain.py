"""A compiler for AMD code objects, put together from what the machine has. No GPU is needed, and none is used."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# Target to the value of __oclc_ISA_version: 1000 * major + 100 * minor + stepping (a hexadecimal digit in the name).
# Device libraries older than a target lack only this one constant.
ISA_VERSION: Mapping[str, int] = {"gfx90a": 9010, "gfx942": 9402, "gfx1030": 10300, "gfx1100": 11000, "gfx1201": 12001}

_ROCM_ROOTS = tuple(Path(p) for p in (os.environ.get("ROCM_PATH"), "/opt/rocm", "/usr") if p)


class NoToolchain(Exception):
    """What is missing, in words."""


@dataclass(frozen=True)
class Toolchain:
    """``clang`` with an AMDGPU back end, ``readelf`` beside it, and a ROCm tree of links to headers and bitcode."""

    clang: Path
    readelf: Path
    tree: Path

    def compile(self, source: Path, arch: str, output: Path) -> None:
        """Write the code object of ``source`` for ``arch``; warnings are errors. Raises ``RuntimeError``."""
        command = [
            *(str(self.clang), "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output"),
            *(f"--offload-arch={arch}", f"--rocm-path={self.tree}", "-mcode-object-version=5"),
            *("-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror", "-o", str(output), str(source)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source.name} does not compile for {arch}:\n{done.stderr[:4000]}")

    def kernels(self, code_object: Path) -> dict[str, dict[str, Any]]:
        """The ``amdhsa.kernels`` metadata of a code object, by kernel name."""
        notes = subprocess.run(
            [str(self.readelf), "--notes", str(code_object)], capture_output=True, text=True, check=True
        )
        text = notes.stdout.split("---\n", 1)[1].split("\n...", 1)[0]
        metadata = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return {kernel[".name"]: kernel for kernel in metadata["amdhsa.kernels"]}


def find(scratch: Path) -> Toolchain:
    """The machine's toolchain, with what old device libraries lack made in ``scratch``. Raises ``NoToolchain``."""
    clang = next(_clangs(), None)
    if clang is None:
        raise NoToolchain("no clang++ with an AMDGPU back end on PATH or in ROCM_PATH/llvm/bin")
    home = clang.resolve().parent
    readelf = next((p for p in (home / "llvm-readelf", home / "llvm-readelf-19") if p.exists()), None)
    if readelf is None:
        raise NoToolchain(f"no llvm-readelf beside {clang.resolve()}")
    include = next((r / "include" for r in _ROCM_ROOTS if (r / "include/hip/hip_runtime.h").exists()), None)
    if include is None:
        raise NoToolchain("no hip/hip_runtime.h in " + ", ".join(str(r / "include") for r in _ROCM_ROOTS))
    places = [r / p for r in _ROCM_ROOTS for p in ("amdgcn/bitcode", "lib/x86_64-linux-gnu/amdgcn/bitcode")]
    bitcode = next((p for p in places if (p / "ockl.bc").exists()), None)
    if bitcode is None:
        raise NoToolchain("no AMD device libraries (ockl.bc) in " + ", ".join(map(str, places)))
    return Toolchain(clang, readelf, _tree(scratch, clang, include, bitcode))


def _clangs() -> Iterator[Path]:
    names = ["clang++", *(f"clang++-{v}" for v in range(22, 17, -1))]
    for root in _ROCM_ROOTS[:-1]:
        names.insert(0, str(root / "llvm/bin/clang++"))
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        targets = subprocess.run([path, "--print-targets"], capture_output=True, text=True, check=False).stdout
        if "amdgcn" in targets:
            yield Path(path)


def _tree(scratch: Path, clang: Path, include: Path, bitcode: Path) -> Path:
    tree = scratch / "rocm"
    libraries = tree / "amdgcn/bitcode"
    libraries.mkdir(parents=True)
    (tree / "bin").mkdir()
    (tree / "include").symlink_to(include)
    for library in bitcode.glob("*.bc"):
        (libraries / library.name).symlink_to(library)
    # The driver wants a version; it changes nothing in device code here.
    (tree / "bin/.hipVersion").write_text("HIP_VERSION_MAJOR=5\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=0\n")
    for arch, version in ISA_VERSION.items():
        output = libraries / f"oclc_isa_version_{arch.removeprefix('gfx')}.bc"
        if not output.exists():
            _write_isa_version(clang, version, output)
    return tree


def _write_isa_version(clang: Path, version: int, output: Path) -> None:
    constant = (
        'target triple = "amdgcn-amd-amdhsa"\n'
        "@__oclc_ISA_version = linkonce_odr protected local_unnamed_addr addrspace(4) constant "
        f"i32 {version}, align 4\n"
    )
    command = [
        *(str(clang), "-x", "ir", "-c", "-emit-llvm", "--target=amdgcn-amd-amdhsa", "-nogpulib"),
        *("-Wno-override-module", "-o", str(output), "-"),
    ]
    subprocess.run(command, input=constant, text=True, check=True, capture_output=True)
