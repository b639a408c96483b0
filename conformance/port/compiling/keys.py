"""What an object is known by: everything that its compilers read, wherever it lies.

It takes two steps, as in ccache. The first key is over the compiler, its options, the environment that it heeds and the
text that it is given. It leads to manifests. A manifest has the digest of every file that was read for one object, and
the files that could be read in its place by another order of search; its object is taken while all of them are as they
were. So a compiler starts only for what has changed, and no spelling of an ``#include`` matters.

Names below a tree's root begin with the root's own name, as labels do (``kernels/include/a.h``). Compilers that work in
the folder above the root say them so, and copies of a tree share objects. Any other file is known by its whole path.

A file may change while it is compiled. ``settle`` looks at every file before and after, compiles again, and in the end
gives no manifest: what is doubtful is not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from conformance.cache import ObjectFolder
from conformance.port.compiling.reads import Reads, absolute_environment, environment_folders
from conformance.port.definitions.mentioned import mentioned, names_in, normalised
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.reading import MIB, read_bytes

Result = TypeVar("Result")

_VERSION = "keys 1"

_VARIABLES = (
    *("COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH", "ZIG_LIB_DIR"),
    *("HIPCC_LINK_FLAGS_APPEND", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH", "HIP_PATH"),
    *("HIP_PLATFORM", "HIP_COMPILER", "HIP_RUNTIME", "ROCM_PATH", "HIPRTC_LINK_OPTIONS_APPEND"),
    *("CUDA_PATH", "CUDA_HOME", "NVCC_CCBIN"),
)
"""What else changes what a compiler reads or does. Its own headers and libraries are part of its identity."""

_SYSTEM = (Path("/usr/local/include"), Path("/usr/include"))
"""Searched by compilers without an option, for what ``__has_include`` asks for."""

_MOST = 1024 * MIB
"""Bytes of the largest file that is read for an object; ``#embed`` reads more than headers."""

_MANIFESTS = 16
"""Of one first key: the newest are kept."""

_TRIES = 3
"""Compilations of files that keep changing."""

_SUFFIX_PARTS = 5
_COARSE_CLOCK = 5
"""Linux's CLOCK_REALTIME_COARSE, which the times of files are taken from."""

_ASKED = re.compile(r'__has_(?:include|include_next|embed)\s*\(\s*(?:"([^"\n]+)"|<([^>\n]+)>|([^\s)]))')
_JOINT = re.compile(r'"\s*"')
_HIDDEN = re.compile(
    r"incbin|\.\s*(?:include|macro|irpc?|rept)\b(?!\s*\()|\bcomment\s*\(\s*lib\b|\bpragma\s+comment\b", re.IGNORECASE
)
"""What makes an assembler or a linker read a file, in a text whose neighbouring string literals are one."""


@dataclass(frozen=True)
class TreeFolders:
    """Where a tree lies: its ``root``, and the ``folders`` in which its headers are looked for."""

    root: Path
    folders: tuple[Path, ...] = ()

    @classmethod
    def of(cls, source: KernelSource, options: BuildOptions) -> TreeFolders:
        """The folders for ``source``, compiled with ``options`` in the current environment."""
        folders = (source.path.parent, *options.include_dirs, source.root, *environment_folders())
        return cls(source.root, tuple(dict.fromkeys(folders)))

    @property
    def base(self) -> Path:
        """The folder that names in keys are relative to."""
        return self.root.parent

    def name(self, file: str) -> str:
        """The name of ``file`` in a key; ``file`` is a path, or relative to ``base``."""
        inside = f"{self.root}{os.sep}"
        if self.root.name and file.startswith(inside):
            return f"{self.root.name}/{file[len(inside) :]}"
        return file

    def path(self, name: str) -> Path:
        """The path of the file that keys call ``name``."""
        return self.base / name

    def relative_flags(self, flags: Sequence[str]) -> list[str]:
        """The compiler's options ``flags``, with paths below the root relative to ``base``."""
        return [_relative(flag, self) for flag in flags]

    def is_own(self, name: str) -> bool:
        """Whether the file that keys call ``name`` belongs to the tree and not to an installation."""
        return not os.path.isabs(name) or any(name.startswith(f"{folder}{os.sep}") for folder in self.folders)


def _relative(flag: str, tree: TreeFolders) -> str:
    for option in ("-I", "-isystem", "-iquote", ""):
        path = flag.removeprefix(option)
        if flag.startswith(option) and tree.root.name and path == str(tree.root):
            return f"{option}{tree.root.name}"
        if flag.startswith(option) and tree.name(path) != path:
            return f"{option}{tree.name(path)}"
    return flag


def _environment() -> list[str]:
    """The environment that a compiler heeds, a variable a line."""
    values = {name: os.environ[name] for name in _VARIABLES if os.environ.get(name)} | absolute_environment()
    return [f"{name}={value}" for name, value in sorted(values.items())]


def first_key(compiler: str, flags: Sequence[str], label: str, text: str) -> str:
    """The key of an object before its compiler has read any file.

    ``compiler`` is the compiler's identity, ``flags`` are its options, and ``text`` is what it compiles, under the name
    ``label``.
    """
    digest = hashlib.sha256()
    for part in (_VERSION, compiler, *flags, label, *_environment(), text):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()[:32]


@dataclass(frozen=True)
class Manifest:
    """What one object was made from.

    ``files`` has the SHA-256 of each file that was read, by its name in keys. ``asked`` are the names that
    ``__has_include`` asked for. ``present`` are all files that a search for one of these names could find.
    """

    files: Mapping[str, str]
    asked: tuple[str, ...] = ()
    present: tuple[str, ...] = ()

    def holds(self, tree: TreeFolders) -> bool:
        """Whether the files in ``tree`` are still those that the object was made from."""
        # A tree's own files change most: they are looked at first.
        names = sorted(self.files, key=os.path.isabs)
        return all(_digest(tree.path(name)) == self.files[name] for name in names) and (
            _present(tree, names, self.asked) == self.present
        )

    @cached_property
    def key(self) -> str:
        """The key of the object: a hash of the manifest."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    @cached_property
    def text(self) -> str:
        """The manifest as JSON, the same text for equal manifests."""
        files = dict(sorted(self.files.items()))
        return json.dumps({"files": files, "asked": list(self.asked), "present": list(self.present)})

    @classmethod
    def parsed(cls, row: Mapping[str, object]) -> Manifest:
        """The manifest of which ``text`` was made, from the parsed JSON."""
        files, asked, present = row["files"], row["asked"], row["present"]
        assert isinstance(files, dict)
        assert isinstance(asked, list)
        assert isinstance(present, list)
        return cls(files, tuple(asked), tuple(present))


class KeptObjects:
    """The objects of one source of ``tree`` in ``folder``: manifests by first key, code by the manifest's key."""

    def __init__(self, folder: ObjectFolder, tree: TreeFolders) -> None:
        self._folder, self._tree = folder, tree

    def find(self, first: str) -> bytes | None:
        """The object with this first key whose files are unchanged; ``None`` where there is none."""
        for manifest in self._manifests(first):
            if manifest.holds(self._tree):
                code = self._folder.read(_object_key(first, manifest))
                if code is not None:
                    return code
        return None

    def keep(self, first: str, manifest: Manifest, code: bytes) -> None:
        """Keep an object. Call it in a ``turn`` of the folder that may keep."""
        known = [other for other in self._manifests(first) if other != manifest]
        self._folder.keep(_object_key(first, manifest), code)
        rows = ",".join(each.text for each in (manifest, *known[: _MANIFESTS - 1]))
        self._folder.keep(first, f"[{rows}]".encode("utf-8", "surrogateescape"))

    def _manifests(self, first: str) -> list[Manifest]:
        entry = self._folder.read(first)
        return [] if entry is None else [Manifest.parsed(row) for row in json.loads(entry)]


def _object_key(first: str, manifest: Manifest) -> str:
    return hashlib.sha256(f"{first}\0{manifest.key}".encode()).hexdigest()[:32]


class Watch:
    """Tells whether files have changed since it was made.

    ``starts`` are a source and the headers that are forced on it. Watched are the files that they mention, and
    ``also``, named as in keys.
    """

    def __init__(self, tree: TreeFolders, starts: Sequence[Path], also: Iterable[str] = ()) -> None:
        self._tree = tree
        self._began = time.clock_gettime_ns(_COARSE_CLOCK)
        files = [*mentioned(starts, tree.folders).paths, *map(tree.path, also)]
        self._states = {file: _state(file) for file in files}

    def has_seen_change(self, names: Iterable[str]) -> bool:
        """Whether a watched file, or one of ``names``, has changed. A file that was not watched is judged by its
        modification time."""
        others = [file for file in map(self._tree.path, names) if file not in self._states]
        return any(_state(file) != state for file, state in self._states.items()) or any(
            _touched(file) >= self._began for file in others
        )


def settle(
    tree: TreeFolders,
    starts: Sequence[Path],
    text: str,
    compilation: Callable[[Reads], Result],
    failures: tuple[type[Exception], ...],
) -> tuple[Result, Manifest | None]:
    """The result of ``compilation``, and the manifest of what it was made from; ``None`` for the latter where that is
    doubtful.

    ``starts`` are the source and the headers that are forced on it, ``text`` is what is compiled of the source.
    ``compilation`` notes what it reads. If a file has changed meanwhile, it is repeated, at most twice, even if it
    raised one of ``failures``. Otherwise these are raised.
    """
    names: list[str] = []
    for last in (False,) * (_TRIES - 1) + (True,):
        watch, reads = Watch(tree, starts, names), Reads()
        try:
            made = compilation(reads)
        except failures:
            names = _names(tree, reads)
            if last or not watch.has_seen_change(names):
                raise
            continue
        manifest = _manifest(tree, starts, text, reads)
        names = _names(tree, reads)
        # What a search could find now may not have been there in time.
        changed = watch.has_seen_change([*names, *(() if manifest is None else manifest.present)])
        if last or not changed:
            break
    return made, None if changed else manifest


def own_files(tree: TreeFolders, reads: Reads) -> list[Path]:
    """The files of the tree among those that were read."""
    return [tree.path(name) for name in _names(tree, reads) if tree.is_own(name)]


def contain(files: Iterable[Path], text: bytes) -> bool:
    """Whether one of ``files`` contains ``text``."""
    return any(text in (_content(file) or b"") for file in files)


def _names(tree: TreeFolders, reads: Reads) -> list[str]:
    """The files that were read, as keys call them, without those that were made for a compilation."""
    names = dict.fromkeys(map(tree.name, reads.files))
    return [name for name in names if tree.is_own(name) or not _is_temporary(name)]


def _is_temporary(name: str) -> bool:
    inside = name.removeprefix(f"{tempfile.gettempdir()}{os.sep}")
    return inside != name and any(part.startswith(("candle-parity-", "hipcpu-")) for part in inside.split(os.sep))


def _manifest(tree: TreeFolders, starts: Sequence[Path], text: str, reads: Reads) -> Manifest | None:
    """What an object was made from; ``None`` where that cannot be known."""
    names = _names(tree, reads)
    if not reads.listed:
        all_of = mentioned(starts, tree.folders)
        if all_of.computed:
            return None
        names = list(dict.fromkeys([*names, *(tree.name(str(path)) for path in all_of.paths if path != starts[0])]))
    if reads.hidden:
        return None
    files: dict[str, str] = {}
    asked: set[str] = set()
    texts = [(text, True)]
    for name in names:
        content = _content(tree.path(name))
        if content is None:
            return None
        files[name] = hashlib.sha256(content).hexdigest()
        texts.append((normalised(content), tree.is_own(name)))
    for each, own in texts:
        for quoted, angled, computed in _ASKED.findall(each):
            if computed and own:
                return None
            asked |= {quoted or angled} if not computed else set()
        if own and _HIDDEN.search(_JOINT.sub("", each)):
            return None
        if own and not reads.listed:  # what is not there yet may be read once it is
            asked |= names_in(each)
    wanted = tuple(sorted(asked))
    return Manifest(files, wanted, _present(tree, names, wanted))


def _present(tree: TreeFolders, names: Iterable[str], asked: Sequence[str]) -> tuple[str, ...]:
    """The files that a search for what is in ``names``, or for ``asked``, could find.

    It is looked for by every ending of its name, in all folders that are searched or that hold a file of the tree's.
    """
    wanted = {ending for name in names for ending in _endings(name)}
    own = [tree.path(name).parent for name in names if tree.is_own(name)]
    present: dict[str, None] = {}
    searches = [(folder, wanted | set(asked)) for folder in dict.fromkeys((*tree.folders, *own))]
    searches += [(folder, set(asked)) for folder in _SYSTEM]
    for folder, endings in searches:
        try:
            listing = set(os.listdir(folder))
        except OSError:
            continue
        for ending in endings:
            first = ending.partition("/")[0]
            if (first in listing or first in ("", ".", "..")) and _is_file(folder / ending):
                present[tree.name(str(folder / ending))] = None
    return tuple(sorted(present))


def _endings(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part]
    return ["/".join(parts[-count:]) for count in range(1, min(len(parts), _SUFFIX_PARTS) + 1)]


def _is_file(path: Path) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:
        return False


State = tuple[int, ...] | None


def _state(file: Path) -> State:
    """What differs when a file has been written or replaced; ``None`` where there is none."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _touched(file: Path) -> int:
    """When ``file``, or a link on the way to it, was last changed, in nanoseconds since 1970."""
    newest = 0
    try:
        for part in (file, *file.parents):
            status = part.lstat()
            if part == file or stat.S_ISLNK(status.st_mode):
                newest = max(newest, status.st_ctime_ns)
        return max(newest, file.stat().st_ctime_ns)
    except (OSError, ValueError):
        return time.time_ns()  # it has just gone


def _content(file: Path) -> bytes | None:
    try:
        return read_bytes(file, _MOST)
    except (OSError, ValueError):
        return None


_SETTLED = 2_000_000_000
"""Nanoseconds after which a change of a file cannot have the same time as the one before."""

_digests: dict[tuple[str, State], str] = {}


def _digest(file: Path) -> str | None:
    """The SHA-256 of a regular file; read once per process and state of the file."""
    state = _state(file)
    known = _digests.get((str(file), state))
    if known is not None:
        return known
    content = _content(file)
    if content is None or state is None:
        return None
    digest = hashlib.sha256(content).hexdigest()
    if time.time_ns() - state[-1] > _SETTLED and _state(file) == state:
        _digests[str(file), state] = digest
    return digest
