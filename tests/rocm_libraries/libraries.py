"""AMD's libraries of a release, downloaded with the machine's own apt and unpacked into the cache folder.

Nothing is installed and nothing of the machine's apt is changed: sources, lists, status and cache are private ones.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.files import cache_folder
from conformance.processes import InfrastructureError
from conformance.processes.supervisor import run_bounded
from conformance.toolchains.debian import PackageError, unpack
from tests.rocm_libraries.releases import Release

SWITCH = "CANDLE_PARITY_ROCM_LIBRARIES"
MULTIARCH = "x86_64-linux-gnu"
_PROGRAMS = ("apt-get", "apt-cache", "unshare", "mount", "ldconfig")
_KEYRINGS = ("debian-archive-keyring.gpg", "debian-archive-keyring.pgp")
_SECONDS = 300.0
"""For one call of apt."""

_PATIENCE = 1200.0
"""For another process that downloads the same release."""

_REMEMBERED = 600.0
"""How long a failed download is not tried again, so that the next processes skip at once."""

_HIP = ("libamdhip64*", "libhiprtc*")


class Unavailable(Exception):
    """The libraries are not to be had here; the message is one sentence that says why."""


@dataclass(frozen=True, eq=False)
class Libraries:
    """A release as unpacked: ``hip`` holds HIP's own libraries and headers, ``base`` what they depend on, libc too.

    Both are trees as below ``/``. ``versions`` are those of HIP's own packages.
    """

    release: Release
    base: Path
    hip: Path
    versions: dict[str, str]

    @property
    def lib(self) -> Path:
        return self.hip / "usr/lib" / MULTIARCH

    @property
    def include(self) -> Path:
        return self.hip / "usr/include"

    @property
    def version(self) -> str:
        """Of the runtime library's package."""
        return self.versions[self.release.packages[0]]


def libraries_of(release: Release) -> Libraries:
    """The libraries of ``release``, from the cache folder or downloaded now; raises ``Unavailable``.

    Processes wait for each other. A failure is remembered for some minutes.
    """
    if os.environ.get(SWITCH) == "off":
        raise Unavailable(f"{SWITCH} is off")
    # Administrators' programs are not on every user's PATH.
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    missing = [name for name in _PROGRAMS if shutil.which(name, path=path) is None]
    if platform.machine() != "x86_64" or missing:
        what = f"{missing[0]} is not installed" if missing else f"they are for x86_64, and this is {platform.machine()}"
        raise Unavailable(f"{what}; a Debian system with apt and util-linux can download and run them")
    home = cache_folder() / "rocm-libraries" / release.name
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _turn(home / "lock"):
            return _kept(home, release) or _downloaded(home, release)
    except OSError as error:
        raise Unavailable(f"{error.filename or home} cannot be used ({error.strerror})") from error


def _kept(home: Path, release: Release) -> Libraries | None:
    """What an earlier process unpacked, or the failure that it met."""
    tree, failure = home / "unpacked", home / "failure.txt"
    try:
        versions = json.loads((tree / "versions.json").read_text())
    except (OSError, ValueError):
        shutil.rmtree(tree, ignore_errors=True)
    else:
        if versions.keys() == {*release.packages, *release.alone}:
            return Libraries(release, tree / "base", tree / "hip", versions)
        shutil.rmtree(tree)
    if failure.exists() and time.time() - failure.stat().st_mtime < _REMEMBERED:
        raise Unavailable(failure.read_text())
    return None


def _downloaded(home: Path, release: Release) -> Libraries:
    for cut_off in home.glob("download-*"):
        shutil.rmtree(cut_off, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix="download-", dir=home))
    try:
        versions = _unpack(_Apt(scratch, release), scratch / "new")
        (scratch / "new/versions.json").write_text(json.dumps(versions, indent=1))
        os.replace(scratch / "new", home / "unpacked")
    except (Unavailable, InfrastructureError) as error:
        (home / "failure.txt").write_text(str(error))
        raise Unavailable(str(error)) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    found = _kept(home, release)
    assert found is not None
    return found


def _unpack(apt: _Apt, new: Path) -> dict[str, str]:
    """Download and unpack into ``new/base`` and ``new/hip``; the versions of HIP's own packages."""
    release = apt.release
    versions = apt.versions()
    (new / "base").mkdir(parents=True)
    for deb in apt.download(versions):
        try:
            unpack(deb.read_bytes(), new / "base", deb.name)
        except PackageError as error:
            raise Unavailable(str(error)) from None
        deb.unlink()
    base, hip = new / "base/usr/lib" / MULTIARCH, new / "hip/usr/lib" / MULTIARCH
    hip.mkdir(parents=True)
    for file in [file for pattern in _HIP for file in base.glob(pattern)]:
        file.rename(hip / file.name)
    (new / "hip/usr/include").mkdir()
    (new / "base/usr/include/hip").rename(new / "hip/usr/include/hip")
    for library in ("libamdhip64.so", "libhiprtc.so"):
        if not (hip / library).exists():
            raise Unavailable(f"the packages of HIP {release.name} hold no {library} in usr/lib/{MULTIARCH}")
    return versions


class _Apt:
    """apt with private folders, for the suites of a release on the machine's own mirror."""

    def __init__(self, folder: Path, release: Release) -> None:
        self.folder, self.release = folder, release
        for name in ("state/lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        sources = folder / "sources.list"
        keys = [path for name in _KEYRINGS if (path := Path("/usr/share/keyrings") / name).is_file()]
        signed = f"[signed-by={keys[0]}] " if keys else ""
        sources.write_text("".join(f"deb {signed}{mirror()} {suite} main\n" for suite in release.suites))
        settings = {
            "Dir::Etc::sourcelist": sources,
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": "-",
            "Dir::Etc::preferencesparts": "-",
            "Dir::State": folder / "state",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "Acquire::Languages": "none",
            "Acquire::Retries": "1",
            "Acquire::http::Timeout": "30",
            "Acquire::https::Timeout": "30",
            "APT::Architecture": "amd64",
            "APT::Update::Error-Mode": "any",
            "APT::Sandbox::User": "root",
        }
        self._options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def versions(self) -> dict[str, str]:
        """The version to take of each of HIP's own packages."""
        release = self.release
        told = f"the suites {', '.join(release.suites)} cannot be read from the machine's mirror"
        run("apt-get", *self._options, "update", why=told)
        wanted = (*release.packages, *release.alone)
        rows = run("apt-cache", *self._options, "madison", *wanted, why=told).splitlines()
        offered = [tuple(word.strip() for word in row.split("|")[:2]) for row in rows]
        versions: dict[str, str] = {}
        for name in wanted:
            mine = [version for package, version in offered if package == name]
            usable = [version for version in mine if version.startswith(f"{release.major}.")]
            if not usable:
                has = f"has {', '.join(mine)}" if mine else "does not have it"
                raise Unavailable(f"{name} {release.version} is gone: {' with '.join(release.suites)} {has}")
            versions[name] = release.version if release.version in usable else usable[0]
        return versions

    def download(self, versions: dict[str, str]) -> list[Path]:
        """The files of HIP's own packages and of what they depend on."""

        def named(names: Sequence[str]) -> list[str]:
            return [f"{name}={versions[name]}" for name in names]

        words = ["--yes", "--no-install-recommends", "--download-only", "-t", self.release.suites[0]]
        told = f"the packages of HIP {self.release.name} cannot be downloaded"
        run("apt-get", *self._options, *words, "install", *named(self.release.packages), why=told)
        archives = self.folder / "cache/archives"
        inside = ("env", "-C", str(archives))
        run(*inside, "apt-get", *self._options, "download", *named(self.release.alone), why=told)
        return sorted(archives.glob("*.deb"))


def mirror() -> str:
    """The Debian mirror that the machine's apt uses, by its name where there are others; raises ``Unavailable``."""
    rows = run("apt-get", "indextargets", "--format", "$(SITE)", why="apt cannot tell its mirror").split()
    sites = [site for site in dict.fromkeys(rows) if "security" not in site]
    if not sites:
        raise Unavailable("apt has no mirror in its sources")
    return next((site for site in sites if "debian" in site), sites[0])


def run(*words: str, why: str) -> str:
    """The output of a program; raises ``Unavailable`` with ``why`` and the program's own last line."""
    done = run_bounded(words, _SECONDS)
    if done.code == 0:
        return done.out
    said = [line.strip() for line in done.err.splitlines() if line.startswith("E:")] or done.err.splitlines()
    last = f"it was stopped after {_SECONDS:g} s" if done.code is None else (said or [f"exit code {done.code}"])[-1]
    raise Unavailable(f"{why} ({words[0]}: {last.rstrip('.')})")


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Alone with the folder of ``path``; raises ``Unavailable`` when another process keeps it too long."""
    end = time.monotonic() + _PATIENCE
    with open(path, "w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise Unavailable(f"another process has kept {path} for {_PATIENCE:g} s") from None
                time.sleep(0.1)
        yield
