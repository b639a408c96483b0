"""The folder that looks like a ROCm installation to programs and to what builds them.

``installation`` makes it once, in the cache::

    lib/      the isa or the cpu runtime as libamdhip64 and libhiprtc, also by the names of ROCm 5 to 7; rocBLAS and
              others (``conformance.emulate.libraries``)
    include/  the headers of HIP and of these libraries that this machine has
    amdgcn/   the device libraries that this machine has
    bin/      hipcc, hipconfig, rocminfo and others: shell scripts (``conformance/emulate/bin``)
    llvm/bin/ the tools of the compiler's folder
    share/    HIP's version, where compilers and build scripts look for it
    libexec/  what the runtime asks for the lines of a fault (``conformance/emulate/teller.py``); the compiler and the
              linker of kernels, where they are code of the host

Everything in it but the scripts is a link, so it costs no room.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from conformance.cache import locked
from conformance.emulate.hipcc import COMPILER
from conformance.emulate.libraries import LIBRARIES as OTHERS
from conformance.emulate.libraries import libraries_plan
from conformance.files import cache_folder
from conformance.port.compiling.target import NoHipcc, require_hipcc
from conformance.runtimes.cpu.build import HERE as CPU
from conformance.runtimes.cpu.build import INCLUDE, Plan, build, host_plan
from conformance.runtimes.cpu.kind import KIND as CPU_KIND
from conformance.runtimes.isa.build import HOST_CODE, isa_plan
from conformance.runtimes.isa.kind import KIND as ISA_KIND
from conformance.toolchains.amd import AmdToolchain
from conformance.toolchains.headers import headers_of, hip_version
from conformance.toolchains.host import find_toolchain
from conformance.toolchains.targets import macros, target
from conformance.writing import write_text

SCRIPTS = Path(__file__).with_name("bin")
TELLERS = Path(__file__).with_name("libexec")
TELLER = "libexec/tell"
"""What the runtime asks for the places of a fault."""
LIBRARIES = ("libamdhip64.so", "libhiprtc.so")
RELEASES = ("5", "6", "7")
"""Releases of ROCm under whose names the libraries are found, as ``libamdhip64.so.6``."""

HEADERS = (
    *("hip", "hsa", "rocblas", "hipblas", "hipblas-common", "rocrand", "hiprand"),
    *("rocsolver", "rocfft", "rocsparse", "miopen"),
)
"""Folders of ROCm's headers, of which an installation has those that lie next to the machine's ``hip``."""

FUNCTIONS = Path(__file__).with_name("hip_functions.txt")
"""Functions of HIP 5.2 to 7 that return a ``hipError_t``. A program may link any of them."""
VERSIONS = Path(__file__).with_name("hip_versions.txt")
"""Functions of HIP that were new behind 4.2, each with its version in AMD's ``libamdhip64``, as ``hip_6.0``. That
library has versions up to 7.2; ``libhiprtc`` and the other libraries of ROCm have none."""
_FIRST = "hip_4.2"
HIPRTC = Path(__file__).with_name("hiprtc")
"""Sources of ``libhiprtc``, over ``_OF_HIPRTC``."""
RUNTIME = Path(__file__).with_name("runtime")
"""Sources of what ``libamdhip64`` has for programs in addition to the runtimes of the harness."""
INTERPRETER, ON_HOST = ISA_KIND.name, CPU_KIND.name
RUNTIMES = (INTERPRETER, ON_HOST)
"""What executes kernels: the interpreter of machine code, or the host, for which they are compiled."""
_OWN = {name: Path(__file__).with_name(name) for name in RUNTIMES}
"""Likewise, of each runtime."""
_NOT_OF_PROGRAMS = ("module_api.cpp", "options_api.cpp")
"""Sources of the cpu runtime in whose place ``_OWN`` and ``HOST_CODE`` have others."""
_OF_HIPRTC = tuple(CPU / "hiprtc" / f"{name}.cpp" for name in ("api", "process", "program_common"))

_ABSENT = """// Every function of HIP that the runtime may lack, for programs to link: it says so and fails.
#include "api.h"

using namespace simt;

"""
_STUB = 'SIMT_API int {0}() {{ return fail(NotSupported, "{0} is not emulated by candle-parity"); }}\n'
_DEFINED = re.compile(r"^SIMT_API [^({;]*?\b(hip[A-Z]\w*)\(", re.MULTILINE)
_PER_THREAD = re.compile(r"^PER_THREAD\((\w+)\)", re.MULTILINE)

_NO_COMPILER = "hipcc: %s"
_LINES = "-g1"
"""Line tables alone, for messages about faults."""
_UNKNOWN = "0.0"
_VERSION_FILE = "share/hip/version"
_SCRATCH = "making-"
_SECONDS = 60.0
"""How long to wait for another process that makes an installation."""

BUNDLER = "clang-offload-bundler"
_TOOLS = ("clang", "clang++", BUNDLER, "ld.lld", "lld", "llvm-objdump", "llvm-readelf", "llvm-link", "opt")
"""Of the compiler's own folder, for build scripts that look for them in ``llvm/bin``."""
_LLVM_OF_ROCM = ("../llvm/bin", "../lib/llvm/bin")
"""Where they are from ROCm's folder with ``hipcc``."""


def installation(arch: str, runtime: str = INTERPRETER) -> Path:
    """The root of the installation for ``arch`` (``gfx942``) over one of ``RUNTIMES``, made where it is not there yet.

    A machine without a compiler for AMD targets gets one without headers, whose ``hipcc`` says what is lacking.
    Raises ``BuildError``, ``NoCompiler`` and ``InfrastructureError`` where the runtime cannot be built.
    """
    libraries, others = build(program_plan(runtime)), build(libraries_plan())
    compiler = _compiler(arch)
    texts = {
        f"{folder.name}/{path.name}": _filled(path.read_text(encoding="utf-8"), arch, compiler)
        for folder in (SCRIPTS, TELLERS)
        for path in folder.iterdir()
    }
    texts[_VERSION_FILE] = "".join(
        f"HIP_VERSION_{part}={number}\n"
        for part, number in zip(("MAJOR", "MINOR", "PATCH"), (*_version(compiler).split("."), "0"), strict=True)
    )
    if runtime == ON_HOST:
        own = (_OWN[runtime] / "hipcc").read_text(encoding="utf-8")
        texts |= {**_host_compilers(), COMPILER: texts["bin/hipcc"], "bin/hipcc": _filled(own, arch, compiler)}
    links = {**_libraries(libraries, others), **_of_rocm(compiler), **_tools(compiler)}
    parts = [*(f"{name} {text}" for name, text in sorted(texts.items())), *(f"{a} {b}" for a, b in links.items())]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    root = cache_folder() / "emulate" / key
    if not root.is_dir():
        make_folder(root, texts, links)
    return root


def make_folder(root: Path, texts: Mapping[str, str], links: Mapping[str, Path]) -> None:
    """Make the folder ``root`` whole, of files and links by their path in it; what processes that were killed have left
    next to it is removed. Raises ``OSError`` where that cannot be written."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with locked(root.parent / "lock", _SECONDS) as alone:
        if alone:
            for left in root.parent.glob(f"{_SCRATCH}*"):
                shutil.rmtree(left, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=root.parent))
        try:
            _write(scratch / "new", texts, links)
            os.replace(scratch / "new", root)
        except OSError:
            if not root.is_dir():  # another process may have been faster
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def absent_functions(plan: Plan) -> list[str]:
    """The functions of HIP that the sources of ``plan`` do not define, in the order of the alphabet.

    The libraries are compiled together with what stands in for these, so that none of them can be asked.
    """
    texts = [file.read_text(encoding="utf-8") for file in plan.files(LIBRARIES[0])]
    there = {name for text in texts for name in _DEFINED.findall(text)}
    there |= {f"{name}_spt" for text in texts for name in _PER_THREAD.findall(text)}
    return [name for name in FUNCTIONS.read_text(encoding="utf-8").split() if name not in there]


def runtime_plan(runtime: str = INTERPRETER) -> Plan:
    """One of ``RUNTIMES`` with what ``RUNTIME`` adds."""
    plan, name, own = isa_plan() if runtime == INTERPRETER else _cpu_plan(), LIBRARIES[0], _OWN[runtime]
    return replace(
        plan,
        sources={**plan.sources, name: (*plan.sources[name], RUNTIME, own)},
        flags=(*plan.flags, f"-I{RUNTIME}", f"-I{own}"),
        headers=(*plan.headers, RUNTIME, own),
    )


def _cpu_plan() -> Plan:
    """The cpu runtime without what only the harness calls, and with what the host code of programs does."""
    plan, home = host_plan(), CPU / "runtime"
    files = tuple(file for file in sorted(home.glob("*.cpp")) if file.name not in _NOT_OF_PROGRAMS)
    return replace(
        plan,
        runtime="programs' cpu",
        sources={**plan.sources, LIBRARIES[0]: (*files, HOST_CODE)},
        flags=(*plan.flags, f"-I{home}", f"-I{HOST_CODE}"),
        headers=(*plan.headers, home, HOST_CODE),
        options=(),
    )


def program_plan(runtime: str = INTERPRETER) -> Plan:
    """``runtime_plan`` with every function that a program may link (``FUNCTIONS``, ``HIPRTC``).

    Raises ``FileError`` where the cache cannot be written.
    """
    hip, rtc = LIBRARIES
    versions = {hip: _generated("versions", version_script(hip_versions()), ".map")}
    plan = replace(runtime_plan(runtime), versions=versions)
    file = _generated("absent", _ABSENT + "".join(map(_STUB.format, absent_functions(plan))), ".cpp")
    own = CPU / "hiprtc"
    if runtime == ON_HOST:
        return replace(
            plan, sources={hip: (*plan.sources[hip], file), rtc: (*plan.sources[rtc], HIPRTC / "refused.cpp")}
        )
    return replace(
        plan,
        sources={hip: (*plan.sources[hip], file), rtc: (HIPRTC, *_OF_HIPRTC)},
        flags=(*plan.flags, f"-I{own}", f"-I{HIPRTC}"),
        headers=(*plan.headers, HIPRTC, *(own / name for name in ("literal.h", "process.h", "program.h"))),
    )


def version_script(versions: Mapping[str, str]) -> str:
    """The linker's script for functions by name with their versions (``VERSIONS``); all others are of the first one.

    ``simt_`` and ``__wrap_`` are what kernels call that are compiled for the host (simt/abi.h).
    """
    text = f"{_FIRST} {{ global: hip*; __hip*; simt_*; __wrap_*; local: *; }};\n"
    before = _FIRST
    for version in sorted(set(versions.values())):
        names = " ".join(f"{name};" for name, its in versions.items() if its == version)
        text += f"{version} {{ global: {names} }} {before};\n"
        before = version
    return text


def hip_versions() -> dict[str, str]:
    """The rows of ``VERSIONS``."""
    return dict(row.split() for row in VERSIONS.read_text(encoding="utf-8").splitlines())


def _generated(kind: str, text: str, suffix: str) -> Path:
    """A file of the cache with ``text``; raises ``FileError`` where it cannot be written."""
    file = cache_folder() / "emulate" / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}{suffix}"
    if not file.is_file():
        write_text(file, text)
    return file


def environment(
    root: Path, arch: str, given: Mapping[str, str], devices: int = 1, runtime: str = INTERPRETER
) -> dict[str, str]:
    """What a program's environment has in addition to ``given``, or in place of it.

    With it the program finds the installation at ``root``, which has ``runtime``, and ``devices`` GPUs of the target
    ``arch``. Errors of HIP are told on standard error, each once (``HIPCPU_SAY``), and launches have no time limit.
    """
    folders = {"PATH": "bin", "LD_LIBRARY_PATH": "lib", "LIBRARY_PATH": "lib"}
    paths = {name: os.pathsep.join(filter(None, (str(root / own), given.get(name)))) for name, own in folders.items()}
    roots = dict.fromkeys(("ROCM_PATH", "ROCM_HOME", "HIP_PATH"), str(root))
    of_runtime = {
        "HIP_PLATFORM": "amd",
        "HIPISA_TARGET": arch,
        "HIPISA_DEVICES": str(devices),
        "HIPISA_TELL": str(root / TELLER),
        "HIPCPU_SAY": "1",
        "HIPCPU_TIMEOUT_MS": "0",
    }
    chosen = {name: given[name] for name in ("HIPCPU_SAY", "HIPCPU_TIMEOUT_MS") if name in given}
    return {
        **paths,
        **roots,
        **of_runtime,
        **(_host_variables(root, arch, given) if runtime == ON_HOST else {}),
        **chosen,
    }


def _host_variables(root: Path, arch: str, given: Mapping[str, str]) -> dict[str, str]:
    """What the cpu runtime's hiprtc finds its compiler by, and the lanes of a wave of ``arch``."""
    tools = {"HIPCPU_CXX": "*-c++", "HIPCPU_LD": "*-ld"}
    macros_of_arch = (f"-D{macro}" for macro in macros(arch, target(arch).default_wave))
    flags = (_LINES, *macros_of_arch, *given.get("HIPCPU_CXXFLAGS", "").split())
    found = {name: next((root / "libexec").glob(pattern), None) for name, pattern in tools.items()}
    return {
        **{name: str(path) for name, path in found.items() if path is not None},
        "HIPCPU_INCLUDE": str(INCLUDE),
        "HIPCPU_WAVE": str(target(arch).default_wave),
        "HIPCPU_CXXFLAGS": " ".join(flags),
    }


def _host_compilers() -> dict[str, str]:
    """Scripts that are the compiler and the linker of kernels for the host. What kind of compiler it is, libhiprtc
    takes from its name, too. Raises ``NoCompiler``."""
    found = find_toolchain(links_standard_library=False)
    commands = {"c++": found.compiler, "ld": found.linker}
    return {
        f"{TELLERS.name}/{found.kind}-{name}": f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
        for name, words in commands.items()
        if words
    }


def emulated_in(given: Mapping[str, str]) -> str | None:
    """The target of the GPU that is emulated already in the environment ``given``, that of ``environment``."""
    return given.get("HIPISA_TARGET") if "HIPISA_TELL" in given else None


def _compiler(arch: str) -> AmdToolchain | str:
    """The compiler for AMD targets with HIP's headers, or what is lacking."""
    try:
        return require_hipcc(arch)
    except NoHipcc as error:
        return str(error)


def _headers(compiler: AmdToolchain) -> Path:
    """The folder with HIP's headers that ``compiler`` reads."""
    return headers_of(compiler.options) or Path("/usr/include")


def _filled(script: str, arch: str, compiler: AmdToolchain | str) -> str:
    if isinstance(compiler, str):
        if "@COMPILER@" in script:
            return f"#!/bin/sh\necho {shlex.quote(_NO_COMPILER % compiler)} >&2\nexit 1\n"
    else:
        script = script.replace("@COMPILER@", shlex.join(compiler.command))
        script = script.replace("@OPTIONS@", shlex.join(compiler.options))
    values = {
        "@ARCH@": arch,
        "@VERSION@": _version(compiler),
        "@PYTHON@": shlex.quote(sys.executable),
        "@PACKAGES@": shlex.quote(str(Path(__file__).parents[2])),
    }
    for name, value in values.items():
        script = script.replace(name, value)
    return script


def _version(compiler: AmdToolchain | str) -> str:
    """The version of HIP's headers, as ``5.2``."""
    return _UNKNOWN if isinstance(compiler, str) else hip_version(_headers(compiler)) or _UNKNOWN


def _libraries(runtime: Path, others: Path) -> dict[str, Path]:
    """The links of ``lib`` to the libraries in ``runtime``, HIP's own, and in ``others``."""
    endings = ("", *(f".{release}" for release in RELEASES))
    of_hip = {f"lib/{name}{ending}": runtime / name for name in LIBRARIES for ending in endings}
    return {**of_hip, **{f"lib/{name}": others / library.file for library in OTHERS for name in library.files}}


def _of_rocm(compiler: AmdToolchain | str) -> dict[str, Path]:
    """The links to HIP's headers and the device libraries that ``compiler`` reads; none where there is none."""
    if isinstance(compiler, str):
        return {}
    headers = _headers(compiler)
    links = {f"include/{name}": headers / name for name in HEADERS if (headers / name).is_dir()}
    trees = (Path(word.partition("=")[2]) for word in compiler.options if word.startswith("--rocm-path="))
    libraries = next((tree / "amdgcn" for tree in trees if (tree / "amdgcn").is_dir()), None)
    return {**links, **({} if libraries is None else {"amdgcn": libraries})}


def _tools(compiler: AmdToolchain | str) -> dict[str, Path]:
    """The links to LLVM's tools of the version of ``compiler``, as far as they are there."""
    program = None if isinstance(compiler, str) else shutil.which(compiler.command[0])
    if program is None:
        return {}
    own = Path(program).resolve().parent
    folders = (own, *(own / place for place in _LLVM_OF_ROCM))
    found = {
        name: path
        for name in _TOOLS
        if (path := next((folder / name for folder in folders if (folder / name).is_file()), None)) is not None
    }
    links = {f"llvm/bin/{name}": path for name, path in found.items()}
    return {**links, **({f"bin/{BUNDLER}": found[BUNDLER]} if BUNDLER in found else {})}


def _write(folder: Path, texts: Mapping[str, str], links: Mapping[str, Path]) -> None:
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if file.parent.name in (SCRIPTS.name, TELLERS.name):
            file.chmod(0o755)
    for name, to in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(to)
