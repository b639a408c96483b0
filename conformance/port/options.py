"""How a tree of kernels is compiled: include folders, macros, forced includes, dialect.

They come from the command line and from a file ``candle-parity.toml`` in the tree or next to it::

    include_dirs = ["include", "../shim"]      # as -I, searched before the tree's own folders
    defines = ["USE_HIP", "WARP_SIZE=64"]      # as -D
    forced_includes = ["shim/cuda_to_hip.h"]   # as --include: read before the first line of every source
    dialect = "hip"                            # "hip", "cuda", or "auto": .cu files that include no HIP header are CUDA

Paths are relative to the file. No other key is known. The command line's folders are searched first, and its macros
win.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.port.includes import reached
from conformance.port.sources import KernelSource, SourceError
from conformance.reading import read_text, shortened

OPTIONS_FILE = "candle-parity.toml"
DIALECTS = ("auto", "hip", "cuda")

_LISTS = ("include_dirs", "defines", "forced_includes")
_DEFINE = re.compile(r"[A-Za-z_]\w*(\([^)\0]*\))?(=[^\0]*)?")
_LONGEST = 10_000
_MOST_BYTES = 16 << 10  # tomllib takes a time that grows with the square of a dotted key


@dataclass(frozen=True)
class BuildOptions:
    """What every source of a tree is compiled with; all paths are absolute."""

    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    forced: tuple[Path, ...] = ()
    dialect: str = "auto"

    def compiler_flags(self, first: Sequence[Path] = (), last: Sequence[Path] = ()) -> list[str]:
        """As a compiler's options, without the dialect; ``first`` and ``last`` are folders to search around ours."""
        flags = [f"-I{folder}" for folder in dict.fromkeys((*first, *self.include_dirs, *last))]
        flags += [f"-D{define}" for define in self.defines]
        return flags + [word for header in self.forced for word in ("-include", str(header))]


NO_OPTIONS = BuildOptions()


def options_for(
    kernels: Path,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    dialect: str | None = None,
) -> BuildOptions:
    """The options of the tree at ``kernels``: those given, and those of its ``candle-parity.toml``.

    Given paths are relative to the working directory; a forced include that is not there is looked for in the include
    folders. Raises ``SourceError`` for a folder or header that does not exist, a malformed macro, and a file that is no
    TOML or holds an unknown key or a value of the wrong kind.
    """
    file = _options_file(kernels)
    read = _read(file) if file is not None else {}
    base = file.parent if file is not None else kernels
    where = str(file)
    folders = [_folder(folder, "-I") for folder in include_dirs]
    folders += [_folder(base / name, f"{where}: include_dirs") for name in read.get("include_dirs", ())]
    named = [("-D", define) for define in defines]
    macros = [(f"{where}: defines", define) for define in read.get("defines", ())] + named
    for origin, define in macros:
        if not _DEFINE.fullmatch(define) or len(define) > _LONGEST:
            raise SourceError(f"{origin} {shortened(define)!r} is not a macro; expected NAME or NAME=VALUE")
    headers = [_header(base / name, folders, f"{where}: forced_includes") for name in read.get("forced_includes", ())]
    headers += [_header(header, folders, "--include") for header in forced]
    return BuildOptions(
        tuple(dict.fromkeys(folders)),
        tuple(define for _, define in macros),
        tuple(headers),
        dialect or read.get("dialect", "auto"),
    )


def is_cuda(source: KernelSource, options: BuildOptions) -> bool:
    """Whether ``source`` is CUDA's: by the dialect that is named, else a .cu file that includes no HIP header, directly
    or not, conditions ignored."""
    if options.dialect != "auto":
        return options.dialect == "cuda"
    if source.path.suffix != ".cu":
        return False
    starts, folders = (source.path, *options.forced), (source.path.parent, *options.include_dirs, source.root)
    try:
        return not reached(starts, folders).includes_hip
    except (SourceError, OSError):
        return True


def _options_file(kernels: Path) -> Path | None:
    """The tree's file: inside the folder (the file's folder, for a single file), else next to the folder."""
    path = kernels.resolve()
    folders = [path.parent] if path.is_file() else [path, path.parent]
    return next((folder / OPTIONS_FILE for folder in folders if (folder / OPTIONS_FILE).exists()), None)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(read_text(file, _MOST_BYTES))
    except OSError as error:
        raise SourceError(f"{file}: cannot be read ({error.strerror})") from None
    except RecursionError:
        raise SourceError(f"{file}: cannot be read as TOML (nested too deep)") from None
    except ValueError as error:  # no UTF-8, no TOML, and an integer of more than 4,300 digits
        raise SourceError(f"{file}: cannot be read as TOML ({shortened(str(error))})") from None
    known = (*_LISTS, "dialect")
    for key, value in content.items():
        if key not in known:
            raise SourceError(f"{file}: unknown key {shortened(key)!r}; expected one of {', '.join(known)}")
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise SourceError(f"{file}: {key} must be a list of strings, not {_shown(value)}")
        if key == "dialect" and not (isinstance(value, str) and value in DIALECTS):
            raise SourceError(f"{file}: dialect must be one of {', '.join(DIALECTS)}, not {_shown(value)}")
    return content


def _shown(value: Any) -> str:
    # Of the others no repr(): it may be too deep or too long for it.
    return repr(shortened(value)) if isinstance(value, str) else f"a value of type {type(value).__name__}"


def _folder(path: Path, origin: str) -> Path:
    try:
        if path.is_dir():
            return path.resolve()
    except OSError:  # a name too long
        pass
    raise SourceError(f"{origin} {shortened(str(path))} is not a folder; give one that holds headers")


def _header(path: Path, folders: Sequence[Path], origin: str) -> Path:
    for candidate in (path, *(folder / path.name for folder in folders if path.parent == Path())):
        try:
            if candidate.is_file():
                return candidate.resolve()
        except OSError:  # a name too long
            continue
    raise SourceError(
        f"{origin} {shortened(str(path))} is not a file; give a header's path, or its name with its folder as -I"
    )
