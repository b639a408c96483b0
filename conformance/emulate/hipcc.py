"""hipcc of an installation whose kernels are code of the host (``emulate --runtime cpu``).

The host's half of a source is compiled by the same clang as for machine code, with HIP's own headers. Where it has
kernels it leaves open a symbol for their code. That code is a module of the cpu runtime, which the installation's
libhiprtc makes of the same source.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

COMPILER = "libexec/hipcc"
"""The installation's hipcc for machine code, of which the host's half is used."""

_SOURCES = (".cpp", ".cc", ".cxx", ".cu", ".hip")
_VALUED = (
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-MF",
    "-MT",
    "-MQ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-Xclang",
    "-Xlinker",
    "-Xarch_host",
    "-Xarch_device",
    "-target",
)
"""Options whose next word is their value."""
_ALONE = ("-E", "-S", "-M", "-MM", "-fsyntax-only", "-###", "--version", "--offload-host-only", "--cuda-host-only")
"""With one of these nothing is made that has kernels in it."""
_DEVICE_ONLY = ("--genco", "--offload-device-only", "--cuda-device-only")
_OF_LINKING = ("-l", "-L", "-Wl,", "-Xlinker", "-shared", "-static", "-rdynamic")
_RULES = ("-MD", "-MMD")
"""With one of these the compiler writes a make rule."""
_OF_KERNELS = ("-I", "-D", "-U", "-O", "-f", "-W", "-w", "-std=", "--std=", "-include", "-isystem", "-iquote")
"""What of the options matters to kernels; libhiprtc takes no other."""
_NOT_OF_KERNELS = ("-fgpu-rdc", "-fPIC", "-fPIE", "-fpic", "-fpie", "-fvisibility", "-fuse-ld", "-fopenmp", "-fdiagnos")
_RELOCATABLE = "-fgpu-rdc"

_OPEN_SYMBOL = re.compile(rb"\0__hip_fatbin(?!_wrapper)\w*\0")
"""The name by which a host object refers to the code of its kernels."""

_HIP_HEADERS = {"SIMT_HIP_VERSION_HEADER": "hip_version.h", "SIMT_HIP_API_HEADER": "hip_runtime_api.h"}
"""What the cpu runtime's prelude includes of HIP's own headers, by the macro that names the file."""


def options_of_programs(root: Path) -> tuple[str, ...]:
    """Options of libhiprtc for a source that has the host code of a program in it."""
    include = root / "include"
    headers = (f'-D{macro}="{include / "hip" / name}"' for macro, name in _HIP_HEADERS.items())
    return ("-x", "hip", "-DSIMT_LAUNCHERS=1", "-DSIMT_PROGRAM=1", *headers, "-idirafter", str(include))


class NotCompiled(Exception):
    """The command fails; the message, if there is one, has not been printed yet."""


@dataclass
class Words:
    """hipcc's words, sorted."""

    sources: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)  # objects and libraries, in their order
    output: str = ""
    only_compiles: bool = False
    device_only: bool = False
    alone: bool = False


def _with_values(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each of ``words`` that is not the value of the one before it, with its value if it has one."""
    rest = iter(words)
    for word in rest:
        yield word, [value] if word in _VALUED and (value := next(rest, None)) is not None else []


def sorted_words(words: Sequence[str]) -> Words:
    """What hipcc's ``words`` ask for."""
    found = Words()
    language = ""
    for word, value in _with_values(words):
        if word in _ALONE:
            found.alone = True
        if word == "-o":
            found.output = value[0] if value else ""
        elif word == "-c":
            found.only_compiles = True
        elif word in _DEVICE_ONLY:
            found.device_only = True
        elif word == "-x" or word.startswith("-x"):
            language = value[0] if value else word[2:]
        elif word.startswith(_OF_LINKING):
            found.linked += [word, *value]
        elif word.startswith("-"):
            found.options += [word, *value]
        elif language in ("", "hip") and (language or word.endswith(_SOURCES)):
            found.sources.append(word)
        else:
            found.linked += ["-x", language, word, "-x", "none"] if language not in ("", "none") else [word]
    return found


def options_of_kernels(options: Sequence[str], source: Path) -> list[str]:
    """Those of hipcc's ``options`` for ``source`` that are libhiprtc's too."""
    found = ["-iquote", str(source.parent)]
    for word, value in _with_values(options):
        if word.startswith(_OF_KERNELS) and not word.startswith(_NOT_OF_KERNELS):
            found += [word, *value]
    return found


class HostKernels:
    """The cpu runtime's libhiprtc, which makes modules of sources."""

    def __init__(self, root: Path) -> None:
        self._options = options_of_programs(root)
        self._library = ctypes.CDLL(str(root / "lib" / "libhiprtc.so"))

    def compiled(self, source: Path, options: Sequence[str]) -> bytes:
        """The module of ``source``; raises ``NotCompiled`` with the compiler's log."""
        library, program, size = self._library, ctypes.c_void_p(), ctypes.c_size_t()
        text = source.read_bytes()
        library.hiprtcCreateProgram(ctypes.byref(program), text, str(source).encode(), 0, None, None)
        words = [word.encode() for word in (*self._options, *options)]
        failed = library.hiprtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
        if failed:
            library.hiprtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.hiprtcGetProgramLog(program, log)
            raise NotCompiled(
                f"{log.value.decode(errors='replace')}hipcc: the kernels of {source} do not compile for the host"
            )
        library.hiprtcGetCodeSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        library.hiprtcGetCode(program, code)
        return code.raw


def _run(*words: str) -> None:
    done = subprocess.run(words, check=False)
    if done.returncode:
        raise NotCompiled


def rule_options(words: Words, source: str) -> list[str]:
    """Where the rule for ``source`` goes and what it is for, as far as ``words`` leave that to the name of the object
    file, which is another one here."""
    if not any(word in words.options for word in _RULES):
        return []
    output = Path(words.output or Path(source).with_suffix(".o").name)
    file = [] if "-MF" in words.options else ["-MF", str(output.with_suffix(".d"))]
    named = any(word in words.options for word in ("-MT", "-MQ"))
    return file if named else [*file, "-MT", str(output)]


def _object(root: Path, words: Words, source: str, folder: Path, kernels: HostKernels) -> Path:
    """The object file of ``source``, with the code of its kernels, in ``folder``."""
    made, module = folder / "host.o", folder / "module"
    unit = hashlib.sha256(str(Path(source).resolve()).encode()).hexdigest()[:16]  # by which clang tells sources apart
    command = [str(root / COMPILER), "--offload-host-only", "-Xclang", f"-cuid={unit}"]
    command += [*words.options, *rule_options(words, source), "-x", "hip", "-c", source, "-o", str(made)]
    _run(*command)
    if _OPEN_SYMBOL.search(made.read_bytes()):
        module.write_bytes(kernels.compiled(Path(source), options_of_kernels(words.options, Path(source))))
        # Once more with the code of the kernels: clang registers it when the program starts.
        _run(*command, "-w", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(module))
    return made


def compile_and_link(root: Path, given: Sequence[str]) -> int:
    """What hipcc of the installation at ``root`` does with the words ``given``; its exit code."""
    words = sorted_words(given)
    if words.alone or not words.sources:
        return subprocess.run([str(root / COMPILER), *given], check=False).returncode
    if words.output and (words.only_compiles or words.device_only) and len(words.sources) > 1:
        raise NotCompiled(f"hipcc: -o names one file, and {len(words.sources)} sources are compiled: leave it out")
    if _RELOCATABLE in words.options:
        raise NotCompiled(f"hipcc: kernels for the host are made of one source each: build without {_RELOCATABLE}")
    kernels = HostKernels(root)
    with tempfile.TemporaryDirectory() as scratch:
        objects = []
        for number, source in enumerate(words.sources):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            if words.device_only:
                target = Path(words.output or f"{Path(source).stem}.hipfb")
                target.write_bytes(kernels.compiled(Path(source), options_of_kernels(words.options, Path(source))))
                continue
            made = _object(root, words, source, folder, kernels)
            if words.only_compiles:
                Path(words.output or f"{Path(source).stem}.o").write_bytes(made.read_bytes())
            objects.append(str(made))
        if not words.device_only and not words.only_compiles:
            output = words.output or "a.out"
            used = ("-Wno-unused-command-line-argument", *words.options, *objects, *words.linked)
            _run(str(root / COMPILER), "-x", "none", *used, "-o", output)
    return 0


def main(root: str, *given: str) -> int:
    """hipcc of the installation at ``root`` with the words ``given``."""
    try:
        return compile_and_link(Path(root), given)
    except NotCompiled as refused:
        if text := str(refused):
            print(text, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"hipcc: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
