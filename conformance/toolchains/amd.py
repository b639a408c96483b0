"""A compiler for AMD code objects, from what the machine has. No GPU is needed, and none is used.

In this order: ROCm's own clang or hipcc; a clang with the AMDGPU target, HIP's headers and device libraries (Debian:
clang-19, rocm-device-libs, libamdhip64-dev); the clang of the PyPI package ziglang with device libraries and the
minimal HIP header of this package, which is enough for this repository's kernels. The last two take headers and
libraries of a release in the cache (``conformance.toolchains.fetched``) before those of the system.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from conformance.processes import InfrastructureError
from conformance.processes.supervisor import run_bounded
from conformance.toolchains.device_libraries import completed, find_device_libraries, llvm_version
from conformance.toolchains.fetched import fetched, library_roots
from conformance.toolchains.headers import GET, headers_of, hip_version, with_releases
from conformance.toolchains.make_rules import prerequisites
from conformance.toolchains.search import first_line, on_path, output_of, rocm_folders, zig, zig_headers
from conformance.toolchains.targets import AmdError, AmdTarget, target

Kind = Literal["rocm", "clang", "zig"]
KINDS: tuple[Kind, ...] = ("rocm", "clang", "zig")
HIPCC_KINDS: tuple[Kind, ...] = ("rocm", "clang")
"""Those that ports written for hipcc may mean: with HIP's own headers."""

ENVIRONMENT = "CANDLE_PARITY_AMD_COMPILER"

OWN_HEADERS = Path(__file__).parent / "include"
_OLDEST_CLANG = 17
_WITHOUT_DAZ = 20
"""From which version on clang's driver may link no ``__oclc_daz_opt``."""
_SUPPORTED = ("--target=amdgcn-amd-amdhsa", "-nogpulib", "--print-supported-cpus")
SECONDS = 3600
"""For one run of a compiler, which may have to wait for a core."""

_LOADED = "run it again when this machine has less to do"

_OF_HIP = re.compile(r"/hip/[^/]+\.h$|/hip/(?:amd|nvidia)_detail/")

_MAJOR = re.compile(r"version (\d+)")
_ERROR = re.compile(r"^.*?(?:fatal )?error:.*$", re.MULTILINE)
_UNDEFINED = re.compile(
    r"error: undefined (?:\w+ )?symbol: (?P<symbol>.+)\n>>> referenced by .*:\((?P<user>.+)\)$", re.MULTILINE
)
_PACKAGES = "on Debian and Ubuntu the packages clang-19, lld-19, rocm-device-libs and libamdhip64-dev"


class CompileFailure(Exception):
    """A source does not compile for an AMD target.

    ``first`` is the compiler's first error, ``log`` everything that it wrote, ``code`` its exit code (negative for a
    signal), and ``files`` are the files that it had read.
    """

    files: Sequence[str] = ()

    def __init__(self, first: str, log: str, code: int = 1) -> None:
        super().__init__(first)
        self.first = first
        self.log = log
        self.code = code


@dataclass(frozen=True)
class AmdToolchain:
    """A compiler for AMD targets: its command, and the options by which it finds headers and device libraries.

    ``identity`` changes with everything that can change the code it makes; cache keys contain it. ``name`` is for
    reports. ``minimal_headers`` says that HIP's own headers are absent and ours are used.
    """

    kind: Kind
    command: tuple[str, ...]
    options: tuple[str, ...]
    name: str
    identity: str
    minimal_headers: bool = False

    def compile(
        self, source: Path, target: AmdTarget, output: Path, options: Sequence[str] = (), folder: Path | None = None
    ) -> list[str]:
        """Compile ``source`` for ``target`` and write the code object to ``output``; returns the files that the
        compiler read.

        ``source``, ``output`` and paths in ``options`` are relative to ``folder``, if given. Raises ``CompileFailure``.
        """
        with tempfile.TemporaryDirectory(prefix="candle-parity-") as temporary:
            scratch = Path(temporary)
            command = [
                *(*self.command, "-x", "hip", "--offload-device-only", f"--offload-arch={target.name}"),
                *(*self.options, "-O3", "-std=c++17", *options),
            ]
            # Spelled for the compiler proper: zig keeps -MD to itself.
            for word in ("-dependency-file", str(scratch / "k.d"), "-sys-header-deps", "-MT", "k"):
                command += ["-Xclang", word]
            try:
                if self.kind != "zig":
                    self._run([*command, "--no-gpu-bundle-output", "-o", str(output), str(source)], source, folder)
                else:
                    # Its driver looks for a linker under another name: compile, assemble and link step by step.
                    assembly, object_file = str(scratch / "k.s"), str(scratch / "k.o")
                    self._run([*command, "-S", "-o", assembly, str(source)], source, folder)
                    self._run(
                        [
                            *(*self.command, "--target=amdgcn-amd-amdhsa", f"-mcpu={target.name}"),
                            *("-mcode-object-version=5", "-c", assembly, "-o", object_file),
                        ],
                        source,
                        folder,
                    )
                    self._run(
                        [*self.command[:-1], "ld.lld", "-shared", "--no-undefined", "-o", str(output), object_file],
                        source,
                        folder,
                    )
            except CompileFailure as failure:
                failure.files = _listed(scratch / "k.d")
                self._refuse_headers_of_hip(source, failure)
                raise
            return _listed(scratch / "k.d")

    def _refuse_headers_of_hip(self, source: Path, failure: CompileFailure) -> None:
        """Raises ``InfrastructureError`` where zig's clang has read headers of an installed HIP, for which it lacks the
        headers that other clangs bring along: no doing of the source."""
        if self.kind != "zig":
            return
        header = next((file for file in failure.files if _OF_HIP.search(file) and str(OWN_HEADERS) not in file), None)
        if header is not None:
            raise InfrastructureError(
                f"{source.name} includes {header}, which {self.name.partition(' with ')[0]} cannot compile: it comes "
                f"without clang's headers for HIP; install ROCm or, {_PACKAGES}, and take the clang of these "
                f"({ENVIRONMENT} unset, or set to rocm or clang)"
            )

    def _run(self, command: Sequence[str], source: Path, folder: Path | None) -> None:
        done = run_bounded(command, SECONDS, folder)
        if done.code is None:
            raise InfrastructureError(f"{source.name}: the compiler was stopped after {SECONDS} s; {_LOADED}")
        if done.code:
            log = with_releases(done.err, headers_of(self.options))
            found, lacking = _ERROR.search(log), _UNDEFINED.search(log)
            first = found[0].strip() if found else _last_line(log) or f"the compiler ended with {done.code}"
            if lacking is not None:
                first = f"{source.name}: {lacking['symbol']} is used by {lacking['user']} and defined nowhere"
            if self.minimal_headers:
                first += (
                    "\n(HIP's own headers were not found, so that a minimal one was used; a port that needs more needs "
                    f"ROCm or, {_PACKAGES})"
                )
            raise CompileFailure(first, log, done.code)


def _listed(rule: Path) -> list[str]:
    """The files of the make rule in a file; none where the compiler did not come so far."""
    try:
        return prerequisites(rule.read_text(encoding="utf-8", errors="surrogateescape"))
    except FileNotFoundError:
        return []


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def find_toolchain(targets: Sequence[AmdTarget], kinds: Sequence[Kind] | None = None) -> AmdToolchain:
    """The first toolchain of ``kinds`` that can compile for ``targets``.

    ``kinds`` are by default those of ``$CANDLE_PARITY_AMD_COMPILER``, else all. Raises ``AmdError``, which says what
    each of them would need.
    """
    if kinds is None:
        chosen = os.environ.get(ENVIRONMENT, "")
        if chosen and chosen not in KINDS:
            raise AmdError(f"{ENVIRONMENT} is {chosen!r}; expected one of {', '.join(KINDS)}")
        kinds = tuple(kind for kind in KINDS if not chosen or kind == chosen)
    lacks: list[str] = []
    for kind in kinds:
        toolchain = {"rocm": _rocm, "clang": _clang, "zig": _zig}[kind](targets)
        if isinstance(toolchain, AmdToolchain):
            return toolchain
        lacks.append(f"{kind}: {toolchain}")
    raise AmdError(f"no compiler for AMD targets ({'; '.join(lacks)}); install ROCm or, {_PACKAGES}")


def lacking() -> str:
    """Why this machine cannot compile for AMD targets, and what to install; empty where it can."""
    try:
        find_toolchain([target("gfx942")])
    except AmdError as error:
        return str(error)
    return ""


def rocm_roots() -> list[Path]:
    """The folders where ROCm is installed, as far as they exist: its Python packages, those that the environment names,
    /opt."""
    folders = rocm_folders(("_rocm_sdk_devel", "_rocm_sdk_core"), ("ROCM_PATH", "ROCM_HOME", "HIP_PATH"))
    return [root for root in dict.fromkeys(root for _, root in folders) if root.is_dir()]


def _rocm(_targets: Sequence[AmdTarget]) -> AmdToolchain | str:
    names = ("llvm/bin/amdclang++", "lib/llvm/bin/amdclang++", "llvm/bin/clang++", "bin/amdclang++", "bin/hipcc")
    bare: list[str] = []
    for root in rocm_roots():
        compiler = next((root / name for name in names if os.access(root / name, os.X_OK)), None)
        if compiler is not None and (root / "include/hip/hip_runtime.h").is_file():
            return _rocm_toolchain(compiler, (f"--rocm-path={root}", *_headers_of(root / "include")))
        bare += [] if compiler is None else [str(compiler)]
    for name in ("amdclang++", "hipcc"):
        found = shutil.which(name)
        # A distribution's hipcc in /usr/bin drives the distribution's clang, which is found below, with newer targets.
        if found is not None and Path(found).resolve().parent != Path("/usr/bin"):
            return _rocm_toolchain(Path(found), ())
    if bare:
        return f"there is {bare[0]}, without HIP's headers (ROCm's package hip-dev has them)"
    return "no ROCm in ROCM_PATH or /opt/rocm, no amdclang++ or hipcc on PATH"


def _rocm_toolchain(compiler: Path, options: tuple[str, ...]) -> AmdToolchain:
    version = _version((str(compiler),))
    libraries = find_device_libraries([Path(option.partition("=")[2]) for option in options[:1]])
    name = f"ROCm's {compiler.name}, {version}"
    if libraries is not None:
        name += f" with {_of_libraries(libraries, version)}"
    name += _of_release(headers_of(options))
    headers = "".join(_of_headers(Path(option.partition("=")[2]) / "include") for option in options[:1])
    return AmdToolchain("rocm", (str(compiler),), options, name, f"{compiler} {version} {_of_file(compiler)}{headers}")


def _of_file(compiler: Path) -> str:
    """The file behind links, with size and time of change: builds of one version differ, and an upgrade may keep it."""
    real = compiler.resolve()
    return f"{real} {real.stat().st_size} {real.stat().st_mtime_ns}"


def _of_headers(include: Path | None) -> str:
    """Which release of HIP's headers is in ``include``: an upgrade in place leaves the path as it is."""
    file = None if include is None else include / "hip/hip_version.h"
    return f" {_of_file(file)}" if file is not None and file.is_file() else ""


def _clang(targets: Sequence[AmdTarget]) -> AmdToolchain | str:
    clang = next(_clangs(), None)
    if clang is None:
        return "no clang++ with the AMDGPU target on PATH"
    cpus = run_bounded((clang, *_SUPPORTED), SECONDS).err.split()
    unknown = [target.name for target in targets if "gfx906" in cpus and target.processor not in cpus]
    if unknown:
        return f"{clang} does not know {', '.join(unknown)}"
    version = _version((clang,))
    libraries = _libraries(version)
    if libraries is None:
        return f"no device libraries (ocml.bc) for {clang}; {GET} brings them"
    roots = [*rocm_roots(), *(release.folder for release in fetched()), Path("/usr")]
    include = next((root / "include" for root in roots if (root / "include/hip/hip_runtime.h").is_file()), None)
    tree = completed(libraries, (clang,), targets, include)
    # This clang writes version 5 by default but links the constant of version 4.
    headers = [f"--rocm-device-lib-path={tree}/amdgcn/bitcode", *_OWN]
    if include is not None:
        headers = [f"--rocm-path={tree}", *_headers_of(include)]
    options = [*headers, "-mcode-object-version=5", *_constants(version, tree)]
    name = f"{version} with {_of_libraries(libraries, version)}{_of_release(headers_of(options))}"
    identity = f"{version} {_of_file(Path(clang))} {tree.name}{_of_headers(include)}"
    return AmdToolchain("clang", (clang,), tuple(options), name, identity, include is None)


def _libraries(version: str) -> Path | None:
    """Device libraries for the clang that says this ``version`` of itself."""
    major = _MAJOR.search(version)
    return find_device_libraries([*rocm_roots(), *library_roots(int(major[1]) if major else None), Path("/usr")])


def _headers_of(include: Path) -> tuple[str, ...]:
    """The options for HIP's headers in ``include``: clang itself looks for them behind /usr/include, where another
    release of HIP may be."""
    return () if include.resolve() == _USR_INCLUDE else ("-isystem", str(include))


_USR_INCLUDE = Path("/usr/include")
_OWN = ("-nogpuinc", "-isystem", str(OWN_HEADERS))


def _zig(targets: Sequence[AmdTarget]) -> AmdToolchain | str:
    command = zig("clang")
    if not command:
        return "the PyPI package ziglang is not installed (pip install ziglang)"
    version = _version(command)
    libraries = _libraries(version)
    if libraries is None:
        return f"no device libraries (ocml.bc; Debian's package rocm-device-libs has them, and {GET} brings them)"
    tree = completed(libraries, command, targets, None)
    options = (
        *(f"--rocm-device-lib-path={tree}/amdgcn/bitcode", *_OWN, "-isystem", str(zig_headers())),
        "-mcode-object-version=5",
        *_constants(version, tree),
    )
    name = f"zig's {version} with {_of_libraries(libraries, version)}"
    return AmdToolchain("zig", command, options, name, f"zig {version} {tree.name}", True)


def _constants(version: str, tree: Path) -> list[str]:
    """What links the constants that old device libraries need and the drivers of newer compilers leave out."""
    major = _MAJOR.search(version)
    if major is None or int(major[1]) < _WITHOUT_DAZ:
        return []
    return ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", f"{tree}/amdgcn/bitcode/oclc_daz_opt_off.bc"]


def _clangs() -> Iterator[str]:
    """Compilers on PATH with the AMDGPU target."""
    return (path for path in on_path("clang++", _OLDEST_CLANG) if "amdgcn" in _output((path, "--print-targets")))


def _of_libraries(folder: Path, compiler: str) -> str:
    """What mathematics is linked into kernels: ROCm's compiler comes with libraries of its own release."""
    whose = "triton's device libraries" if "triton" in folder.parts else "device libraries"
    written_by, own = llvm_version(folder), _MAJOR.search(compiler)
    if not written_by:
        return f"{whose} of an unknown LLVM"
    differs = own is not None and own[1] != written_by.partition(".")[0]
    return f"{whose} of LLVM {written_by}" + (", not the compiler's release" if differs else "")


def _of_release(headers: Path | None) -> str:
    return "" if headers is None else f"; headers of HIP {hip_version(headers) or 'of an unknown release'}"


def _version(command: tuple[str, ...]) -> str:
    return first_line(_output((*command, "--version"))) or "unknown version"


@cache
def _output(command: tuple[str, ...]) -> str:
    return output_of(command)
