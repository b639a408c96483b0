"""How a tree of kernels is compiled: include folders, macros, forced includes, language standard, dialect.

They come from the command line and from the tree's ``candle-parity.toml`` (``conformance.port.config``). The command
line's folders are searched first, and its macros, standard and dialect win.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.port.config import OPTIONS_FILE, Config
from conformance.port.definitions.source_text import reached
from conformance.port.sources import KernelSource, SourceError
from conformance.reading import shortened
from conformance.settings import NO_SETTINGS, Settings

_DEFINE = re.compile(r"[A-Za-z_]\w*(\([^)\0]*\))?(=[^\0]*)?")
_UNDEFINE = re.compile(r"[A-Za-z_]\w*")
_STANDARD = re.compile(r"(c|gnu)\+\+\w{2}")
CHANGES_ARITHMETIC = re.compile(
    r"-Ofast|-f(no-)?(fast-math|finite-math-only|honor-nans|honor-infinities|signed-zeros|associative-math|approx-func"
    r"|reciprocal-math|unsafe-math-optimizations|gpu-flush-denormals-to-zero|cuda-flush-denormals-to-zero)"
    r"|-ffp-contract=[\w-]+|-fdenormal-fp-math(-f32)?=[\w,-]+|--?use_fast_math|--(fmad|ftz|prec-div|prec-sqrt)=\w+"
)
"""Compiler options by which a kernel computes other numbers."""
_FLAG = re.compile(
    r"-O([0-3sz]|g)?|-w|-W[\w-]+|-m(no-)?(unsafe-fp-atomics|wavefrontsize64|cumode)|-f(no-)?(unroll-loops|gpu-rdc"
    r"|strict-aliasing|wrapv|slp-vectorize)|-lineinfo|--maxrregcount=\d+|" + CHANGES_ARITHMETIC.pattern
)
"""Options that change what a compiler makes of a source, and neither run nor write anything else."""
_LONGEST = 10_000

# Headers that come with a compiler or an installation: where they are is for the compiler to know.
_COMPILERS_OWN = re.compile(r"(hip|rocm?\w*|hip\w+|cub|thrust)/[\w./+-]+|(cuda|hip|device_|math_)\w*\.(h|hpp|cuh)")


@dataclass(frozen=True)
class BuildOptions:
    """What the sources of a tree are compiled with.

    Paths are absolute, but for forced headers that the compiler has to find itself.
    """

    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    forced: tuple[Path, ...] = ()
    dialect: str = "auto"
    undefines: tuple[str, ...] = ()
    std: str | None = None
    flags: tuple[str, ...] = ()

    def compiler_flags(self, first: Sequence[Path] = (), last: Sequence[Path] = ()) -> list[str]:
        """The options as words for a compiler, without the dialect. ``first`` and ``last`` are folders to search before
        and after."""
        flags = [f"-I{folder}" for folder in dict.fromkeys((*first, *self.include_dirs, *last))]
        flags += [*self.flags, *([] if self.std is None else [f"-std={self.std}"])]
        flags += [f"-D{define}" for define in self.defines]
        flags += [f"-U{name}" for name in self.undefines]
        return flags + [word for header in self.forced for word in ("-include", str(header))]


NO_OPTIONS = BuildOptions()


def options_for(given: Settings = NO_SETTINGS, config: Config | None = None) -> BuildOptions:
    """The options that are ``given`` on the command line, combined with those of the port's file.

    Given paths are relative to the working directory. A forced include that is not there is looked for in the include
    folders; if it is named as ROCm's and CUDA's own headers are, it is left to the compiler. Of each origin
    ``undefines`` come after ``defines``. Raises ``SourceError`` for a folder or header that is not there, a malformed
    macro or standard, and a compiler option of which it is not known that it only changes code.
    """
    config = config or Config(Path(OPTIONS_FILE))
    file, where = config.settings, str(config.file)
    folders = [_folder(folder, "-I") for folder in given.include_dirs]
    folders += [_folder(folder, f"{where}: include_dirs") for folder in file.include_dirs]
    for origin, values in ((f"{where}: defines", file.defines), ("-D", given.defines)):
        _check(values, _DEFINE, origin, "a macro; expected NAME or NAME=VALUE")
    for origin, values in ((f"{where}: undefines", file.undefines), ("-U", given.undefines)):
        _check(values, _UNDEFINE, origin, "a macro's name")
    for origin, word in ((f"{where}: std", file.std), ("--std", given.std)):
        _check([word] if word is not None else [], _STANDARD, origin, "a standard of C++; expected one such as c++20")
    for origin, values in ((f"{where}: flags", file.flags), ("--flag", given.flags)):
        _check(values, _FLAG, origin, "an option that only changes code; expected one such as -ffast-math")
    base = config.file.parent
    headers = [_header(base / one, str(one), folders, f"{where}: forced_includes") for one in file.forced_includes]
    headers += [_header(one, str(one), folders, "--include") for one in given.forced_includes]
    # What is given takes back what the file says of the same macro.
    defined, undefined = set(map(_name, given.defines)), set(given.undefines)
    return BuildOptions(
        tuple(dict.fromkeys(folders)),
        (*(word for word in file.defines if _name(word) not in undefined), *given.defines),
        tuple(headers),
        given.dialect or file.dialect or "auto",
        tuple(dict.fromkeys((*(name for name in file.undefines if name not in defined), *given.undefines))),
        given.std or file.std,
        (*file.flags, *given.flags),
    )


def is_cuda(source: KernelSource, options: BuildOptions) -> bool:
    """Whether ``source`` is CUDA: by the named dialect, else because it is a .cu file that includes no header of HIP.

    Includes are followed through headers, whatever conditions they stand under.
    """
    if options.dialect != "auto":
        return options.dialect == "cuda"
    if source.path.suffix != ".cu":
        return False
    if any(str(header).startswith("hip/") for header in options.forced):
        return False
    starts, folders = (source.path, *options.forced), (source.path.parent, *options.include_dirs, source.root)
    try:
        return not reached(starts, folders).hip
    except (SourceError, OSError):
        return True


def _name(define: str) -> str:
    return re.split(r"[(=]", define, maxsplit=1)[0]


def _check(values: Sequence[str], pattern: re.Pattern[str], origin: str, wanted: str) -> None:
    for value in values:
        if not pattern.fullmatch(value) or len(value) > _LONGEST:
            raise SourceError(f"{origin} {shortened(value)!r} is not {wanted}")


def _folder(path: Path, origin: str) -> Path:
    try:
        if path.is_dir():
            return path.resolve()
    except (OSError, ValueError):  # a name too long, or with a NUL
        pass
    raise SourceError(f"{origin} {shortened(str(path))} is not a folder; give one that holds headers")


def _header(path: Path, name: str, folders: Sequence[Path], origin: str) -> Path:
    """``name`` as a file: at ``path``, or in one of ``folders``, or as it is where it is the compiler's own."""
    for candidate in (path, *(folder / name for folder in folders)):
        try:
            if candidate.is_file():
                return candidate.resolve()
        except (OSError, ValueError):
            continue
    if _COMPILERS_OWN.fullmatch(name):
        return Path(name)
    raise SourceError(
        f"{origin} {shortened(str(path))} is not a file; give a header's path, or its name with its folder as -I"
    )
