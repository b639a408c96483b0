"""HIP's headers and AMD's device libraries of named releases, in the cache folder.

They come from packages of Debian (``hip_releases.yaml``), or from what the user has. A release is a folder laid out so
that ``ROCM_PATH`` may name it, too: ``include/hip``, and ``llvm-N/amdgcn/bitcode`` for the libraries that LLVM N wrote.
clang takes the newest release that is there, and of that the newest libraries that it can read
(``conformance.toolchains.amd``).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conformance.errors import UserError
from conformance.files import cache_folder
from conformance.reading import own_yaml, read_bytes
from conformance.toolchains.device_libraries import LIBRARIES, llvm_version
from conformance.toolchains.headers import hip_version
from conformance.toolchains.search import release as numbers

ARCHIVE = "https://deb.debian.org/debian"
_SNAPSHOT = "https://snapshot.debian.org/file"
"""Has every file that Debian has ever had, by its SHA-1."""

PREFIX = "hip-"
"""A release is called ``hip-7.2``."""

_TABLE = Path(__file__).with_name("hip_releases.yaml")
_SECONDS = 60
_MOST_BYTES = 512 << 20
"""Of a package that the user has, and of the headers or the libraries that are kept of one."""

_INCLUDE = ("usr/include", "include", "opt/rocm*/include", "opt/rocm*/*/include")
_BITCODE = "**/amdgcn/bitcode"


class ReleaseError(UserError, ValueError):
    """A release of HIP that does not exist or cannot be had. The message is one sentence that says what to do."""


@dataclass(frozen=True)
class Package:
    """A Debian package that can be fetched: a row of the table.

    ``releases`` are the releases of HIP that need it, ``file`` is its path in Debian's archive, and ``size`` is in
    bytes.
    """

    package: str
    version: str
    suite: str
    releases: tuple[str, ...]
    file: str
    size: int
    sha256: str
    sha1: str

    @property
    def name(self) -> str:
        """The name of the package's file, without its folder."""
        return self.file.rpartition("/")[2]


@dataclass(frozen=True)
class Release:
    """A release of HIP in the cache: its ``version`` (``7.2``) and its ``folder``."""

    version: str
    folder: Path

    @property
    def include(self) -> Path:
        """The folder of its headers, which holds ``hip/hip_runtime.h``."""
        return self.folder / "include"

    @property
    def libraries(self) -> list[Path]:
        """Its folders with device libraries, those of the newest LLVM first."""
        folders = self.folder.glob("llvm-*/amdgcn/bitcode")
        return sorted((one for one in folders if one.parents[1].name[5:].isdecimal()), key=_llvm, reverse=True)


@cache
def table() -> tuple[Package, ...]:
    """Every package that can be fetched."""
    return tuple(Package(**{**row, "releases": tuple(row["releases"])}) for row in own_yaml(_TABLE))


def known_releases() -> list[str]:
    """The releases that can be fetched, the newest first."""
    return sorted({one for row in table() for one in row.releases}, key=_version, reverse=True)


def packages_of(release: str) -> list[Package]:
    """The packages of the release ``release`` (``7.2``). Raises ``ReleaseError`` for one that the table does not
    have."""
    packages = [row for row in table() if release in row.releases]
    if not packages:
        known = ", ".join(PREFIX + one for one in known_releases())
        raise ReleaseError(f"{PREFIX}{release} is no release that can be fetched; expected one of {known}")
    return packages


def fetched() -> list[Release]:
    """The releases in the cache, the newest first."""
    folders = (folder for folder in _home().glob(f"{PREFIX}*") if (folder / "include/hip/hip_runtime.h").is_file())
    releases = [Release(folder.name.removeprefix(PREFIX), folder) for folder in folders]
    return sorted(releases, key=lambda one: _version(one.version), reverse=True)


def library_roots(llvm: int | None) -> list[Path]:
    """Folders whose ``amdgcn/bitcode`` a compiler of LLVM ``llvm`` can read, the best one first. ``None``: of an
    unknown LLVM."""
    roots = [bitcode.parents[1] for release in fetched() for bitcode in release.libraries]
    return [root for root in roots if llvm is None or _llvm(root / "amdgcn/bitcode") <= llvm]


def download(release: str, archive: str = ARCHIVE) -> Release:
    """Fetch the packages of ``release`` (``7.2``) into the cache, from Debian's ``archive`` or else from
    snapshot.debian.org.

    Raises ``ReleaseError``.
    """
    packages = packages_of(release)
    if not archive.startswith(("https://", "http://")):
        raise ReleaseError(f"{archive!r} is no archive; expected an address that begins with https://")
    return _put([(row.name, _downloaded(row, archive)) for row in packages], release)


def take(source: Path, release: str | None = None) -> Release:
    """Put what the user has at ``source`` into the cache: a package, a folder of packages, or an unpacked tree.

    With ``release`` (``7.2``) the folder has to hold the packages of the table, each with its digest. Without it the
    headers say which HIP they are of. Raises ``ReleaseError`` and ``PackageError``.
    """
    if not source.exists():
        raise ReleaseError(f"{source}: there is no such file or folder; give packages (.deb) or an unpacked tree")
    files = sorted(source.glob("*.deb")) if source.is_dir() else [source]
    if release is not None:
        return _put([_given(row, files, source) for row in packages_of(release)], release)
    if files:
        return _put([(file.name, _read(file)) for file in files], None)
    with _scratch() as folder:
        return _kept(source, folder, None, [str(source)])


def remove(release: str) -> None:
    """Remove ``release`` (``7.2``) from the cache. Raises ``ReleaseError`` where it is not there."""
    installed = next((one for one in fetched() if one.version == release), None)
    if installed is None:
        has = ", ".join(PREFIX + one.version for one in fetched()) or "none"
        raise ReleaseError(f"{PREFIX}{release} is not in {_home()}, which has {has}")
    shutil.rmtree(installed.folder)


def _home() -> Path:
    return cache_folder() / "hip"


def _version(text: str) -> tuple[int, ...]:
    return numbers(Path(text))


def _llvm(bitcode: Path) -> int:
    """The LLVM that wrote the libraries in a folder of ours."""
    return int(bitcode.parents[1].name.removeprefix("llvm-"))


def _downloaded(row: Package, archive: str) -> bytes:
    """The content of the package; raises ``ReleaseError`` where no place has it."""
    import http.client
    from urllib.request import Request, urlopen

    said = []
    for address in (f"{archive.rstrip('/')}/{row.file}", f"{_SNAPSHOT}/{row.sha1}"):
        try:
            with urlopen(Request(address, headers={"User-Agent": "candle-parity"}), timeout=_SECONDS) as answer:
                content: bytes = answer.read(row.size + 1)
        except (OSError, ValueError, http.client.HTTPException) as error:  # URLError is an OSError
            said.append(f"{address}: {error}")
            continue
        if _is(content, row):
            return content
        said.append(f"{address}: what is there has another size or SHA-256 than {row.package} {row.version}")
    first = row.releases[0]
    raise ReleaseError(
        f"{row.name} cannot be downloaded ({'; '.join(said)}); download it elsewhere, and give its folder: "
        f"candle-parity toolchain --get {PREFIX}{first} --from FOLDER"
    )


def _given(row: Package, files: Sequence[Path], source: Path) -> tuple[str, bytes]:
    """The package of ``row`` among ``files``, whatever its file is called; raises ``ReleaseError``."""
    for file in files:
        if file.is_file() and file.stat().st_size == row.size:
            content = _read(file)
            if _is(content, row):
                return row.name, content
    same = next((file for file in files if file.name == row.name), None)
    what = f"{same} has another size or SHA-256 than" if same is not None else f"{source} does not have"
    raise ReleaseError(f"{what} {row.package} {row.version}; it is {ARCHIVE}/{row.file} or {_SNAPSHOT}/{row.sha1}")


def _is(content: bytes, row: Package) -> bool:
    return len(content) == row.size and hashlib.sha256(content).hexdigest() == row.sha256


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file, _MOST_BYTES)
    except OSError as error:
        raise ReleaseError(f"{file}: cannot be read ({error.strerror})") from None


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder next to the releases, so that one can be moved into its place."""
    _home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=_home()) as name:
        yield Path(name)


def _put(packages: Sequence[tuple[str, bytes]], release: str | None) -> Release:
    """Unpack packages, by name and content, and keep what is wanted of them."""
    from conformance.toolchains.debian import unpack  # what a run does without

    with _scratch() as folder:
        tree = folder / "unpacked"
        tree.mkdir()
        for name, content in packages:
            unpack(content, tree, name)
        return _kept(tree, folder, release, [name for name, _ in packages])


def _kept(tree: Path, scratch: Path, release: str | None, names: Sequence[str]) -> Release:
    """The headers and the device libraries of an unpacked ``tree``, in the cache. ``names`` say what it was made of."""
    what = ", ".join(names)
    hip = (one / "hip" for one in _matching(tree, _INCLUDE))
    include = next((one.parent for one in hip if _is_of(one, tree) and (one / "hip_runtime.h").is_file()), None)
    if include is None:
        raise ReleaseError(
            f"{what}: has no headers of HIP (include/hip/hip_runtime.h); give Debian's libamdhip64-dev, ROCm's "
            "hip-dev, or what one of them was unpacked to"
        )
    version = hip_version(include)
    if not version:
        raise ReleaseError(f"{what}: its include/hip/hip_version.h does not say which HIP it is of; give another")
    if release is not None and version != release:
        raise ReleaseError(f"{what}: has the headers of HIP {version}, not of {release}; give its packages")
    new = scratch / "new"
    _copy(include / "hip", new / "include/hip", tree)
    for bitcode in _matching(tree, (_BITCODE,)):
        wrote = re.match(r"\d+", llvm_version(bitcode))
        if wrote is not None and all((bitcode / name).is_file() for name in LIBRARIES):
            _copy(bitcode, new / f"llvm-{wrote[0]}/amdgcn/bitcode", tree, ".bc")
    (new / "packages.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    place = _home() / f"{PREFIX}{version}"
    while True:
        try:
            os.replace(new, place)
            return Release(version, place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        # What was there before, or what another process has brought meanwhile.
        with suppress(FileNotFoundError):
            os.replace(place, Path(tempfile.mkdtemp(dir=scratch)) / "old")


def _copy(folder: Path, target: Path, tree: Path, ending: str = "") -> None:
    """Copy the files of ``folder`` and below whose names end so. What lies outside of ``tree``, behind a link to
    another folder, or is a device or a pipe stays out. Raises ``ReleaseError`` for more than ``_MOST_BYTES``."""
    size = 0
    for place, _, names in os.walk(folder):
        for file in (Path(place, name) for name in names if name.endswith(ending)):
            if not (file.is_file() and _is_of(file, tree)):
                continue
            size += file.stat().st_size
            if size > _MOST_BYTES:
                raise ReleaseError(f"{folder}: has more than {_MOST_BYTES >> 20} MiB of files; give another")
            new = target / file.relative_to(folder)
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, new)


def _matching(tree: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Folders of ``tree``, links that lead elsewhere left out, as it may be a stranger's."""
    for pattern in patterns:
        for folder in sorted(tree.glob(pattern)):
            if folder.is_dir() and _is_of(folder, tree):
                yield folder


def _is_of(path: Path, tree: Path) -> bool:
    """Whether ``path``, a link or not, leads to what lies in ``tree``."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(tree))
