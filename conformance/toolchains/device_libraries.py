"""AMD's device libraries (bitcode for mathematics and coordinates), with what old ones lack added.

The libraries that clang links into every kernel are ocml, ockl and a set of one-constant files named oclc_*. A target
that is newer than the installed libraries lacks only its oclc_isa_version; some distributions of ocml come with no
oclc file at all. Both are made here, by compiling the constant.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import string
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.files import cache_folder
from conformance.toolchains.targets import AmdError, AmdTarget

LIBRARIES = ("ocml.bc", "ockl.bc")
"""Those that clang links into every kernel, as far as it calls them."""

# File to constant, its type and value; clang's choice for a kernel that is built without fast maths.
_CONSTANTS: Mapping[str, tuple[str, str, int]] = {
    "oclc_abi_version_500": ("ABI_version", "i32", 500),
    "oclc_abi_version_600": ("ABI_version", "i32", 600),
    "oclc_daz_opt_off": ("daz_opt", "i8", 0),
    "oclc_finite_only_off": ("finite_only_opt", "i8", 0),
    "oclc_unsafe_math_off": ("unsafe_math_opt", "i8", 0),
    "oclc_correctly_rounded_sqrt_on": ("correctly_rounded_sqrt32", "i8", 1),
    "oclc_wavefrontsize64_on": ("wavefrontsize64", "i8", 1),
    "oclc_wavefrontsize64_off": ("wavefrontsize64", "i8", 0),
}

_GLOBS = (
    "amdgcn/bitcode",
    "lib/llvm/amdgcn/bitcode",
    "lib/llvm/lib/clang/*/lib/amdgcn/bitcode",
    "llvm/lib/clang/*/lib/amdgcn/bitcode",
    "lib/x86_64-linux-gnu/amdgcn/bitcode",
    "lib/clang/*/amdgcn/bitcode",
    "lib/llvm-*/lib/clang/*/amdgcn/bitcode",
)


def find_device_libraries(roots: Sequence[Path]) -> Path | None:
    """The first folder with ocml and ockl: that of ``$HIP_DEVICE_LIB_PATH``, one under ``roots``, or triton's. ``None``
    without."""
    return next(all_device_libraries(roots), None)


def all_device_libraries(roots: Sequence[Path]) -> Iterator[Path]:
    """Every folder with ocml and ockl, in the order of ``find_device_libraries``."""
    return (folder for folder in _folders(roots) if all((folder / library).is_file() for library in LIBRARIES))


def _folders(roots: Sequence[Path]) -> Iterator[Path]:
    chosen = os.environ.get("HIP_DEVICE_LIB_PATH")
    if chosen:
        yield Path(chosen)
    for root in roots:
        for pattern in _GLOBS:
            yield from sorted(root.glob(pattern), reverse=True)
    triton = importlib.util.find_spec("triton")
    if triton is not None and triton.origin is not None:
        yield Path(triton.origin).parent / "backends/amd/lib"


_CHAR6 = string.ascii_lowercase + string.ascii_uppercase + string.digits + "._"


def llvm_version(libraries: Path) -> str:
    """The LLVM that wrote ocml, as ``15.0.5``, from the head of its bitcode; empty where that cannot be read.

    A bitcode file begins with a magic number and the identification block (LLVM's BitCodeFormat), whose string is
    ``LLVM15.0.5``: its length and characters take six bits each, aligned to nothing.
    """
    try:
        with (libraries / LIBRARIES[0]).open("rb") as file:
            head = file.read(96)
    except OSError:
        return ""
    bits = int.from_bytes(head, "little") if head.startswith(b"BC\xc0\xde") else 0
    for shift in range(6):
        text = "".join(_CHAR6[bits >> at & 63] for at in range(shift, 8 * len(head) - 5, 6))
        before, name, after = text.partition("LLVM")
        if name and before:
            return after[: _CHAR6.index(before[-1]) - len(name)]
    return ""


def completed(libraries: Path, clang: Sequence[str], targets: Sequence[AmdTarget], include: Path | None) -> Path:
    """A folder in the cache that is laid out as ROCm's, with links to ``libraries`` and the missing oclc files for
    ``targets``.

    ``include``, if given, is linked there too. ``clang`` is the command that compiles the missing files. Raises
    ``AmdError`` where it cannot write bitcode.
    """
    contents = sorted((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in libraries.glob("*.bc"))
    identity = repr((str(libraries), contents, list(clang), str(include)))
    tree = cache_folder() / "amd" / f"rocm-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    if not tree.is_dir():
        _make(tree, libraries, include)
    bitcode = tree / "amdgcn/bitcode"
    wanted = dict(_CONSTANTS)
    for target in targets:
        name = f"oclc_isa_version_{target.processor.removeprefix('gfx')}"
        wanted[name] = ("ISA_version", "i32", target.isa_version)
    for name, (constant, kind, value) in wanted.items():
        if not (bitcode / f"{name}.bc").exists():
            _write_constant(clang, constant, kind, value, bitcode / f"{name}.bc")
    return tree


def _make(tree: Path, libraries: Path, include: Path | None) -> None:
    tree.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=tree.parent))
    bitcode = scratch / "amdgcn/bitcode"
    bitcode.mkdir(parents=True)
    for library in libraries.glob("*.bc"):
        (bitcode / library.name).symlink_to(library.resolve())
    if include is not None:
        (scratch / "include").symlink_to(include)
    # The driver wants a version; it changes nothing in device code.
    (scratch / "bin").mkdir()
    (scratch / "bin/.hipVersion").write_text("HIP_VERSION_MAJOR=5\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=0\n")
    try:
        scratch.rename(tree)
    except OSError:  # another process made it meanwhile
        shutil.rmtree(scratch)


def _write_constant(clang: Sequence[str], constant: str, kind: str, value: int, output: Path) -> None:
    align = 4 if kind == "i32" else 1
    text = (
        'target triple = "amdgcn-amd-amdhsa"\n'
        f"@__oclc_{constant} = linkonce_odr protected local_unnamed_addr addrspace(4) constant "
        f"{kind} {value}, align {align}\n"
    )
    handle, scratch = tempfile.mkstemp(dir=output.parent, suffix=".part")
    os.close(handle)
    command = [*clang, "-x", "ir", "-c", "-emit-llvm", "--target=amdgcn-amd-amdhsa", "-nogpulib"]
    done = subprocess.run(
        [*command, "-Wno-override-module", "-o", scratch, "-"], input=text, text=True, capture_output=True, check=False
    )
    if done.returncode:
        Path(scratch).unlink(missing_ok=True)
        raise AmdError(f"{clang[0]} cannot write AMDGPU bitcode ({done.stderr.strip()[:300]}); use a newer clang")
    os.replace(scratch, output)
