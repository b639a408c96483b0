"""What commit a folder is at and whether its files differ, without running anything that its repository names.

A port may come as an archive with a ``.git`` folder of its own. Its ``.git/config`` can name programs that git runs:
filters, a file system monitor, hooks, what fetches absent objects. So git is asked only for what it reads from its own
files, with these switched off, and the files of the work tree are read and hashed here.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from conformance.reading import read_bytes

_SECONDS = 20
_MOST_LISTED = 64 << 20
"""Bytes of the list of a commit's files: some 600,000 of them. A tree may name another one so often that a repository
of some kilobytes has more files than any disk."""

_OFF = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.pager=cat"),
)
"""Settings on the command line win over those of the repository."""

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",  # a question must not write the index
    "GIT_NO_REPLACE_OBJECTS": "1",  # refs/replace may give other content to the hash of a commit
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # for a git before 2.45, which does not know the line above
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

LINK, MODULE = "120000", "160000"
"""Git's modes of a symbolic link and of a submodule."""
_DUBIOUS = "dubious ownership"
_MOST_ERROR = 4096
_LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n"


class RepositoryError(RuntimeError):
    """Git is not installed, or cannot read the repository; the message says which."""


class TooLarge(RepositoryError):
    """A commit has more than a repository of sources has; the message says of what."""


@dataclass(frozen=True)
class Entry:
    """A file of a commit: git's mode (``100644``), the hash of its content, and its path from the root of the work
    tree."""

    mode: str
    digest: str
    path: str


@dataclass(frozen=True)
class Repository:
    """A git work tree, by its root ``top``. Its methods run git, with everything switched off that could run a
    program."""

    top: Path

    def commit(self) -> str:
        """The whole hash of the commit that is checked out; raises ``RepositoryError`` where there is none."""
        return self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()

    def commit_named(self, revision: str) -> str | None:
        """The whole hash of the commit that ``revision`` names, in any of git's ways (``main~3``, a tag); ``None``
        where it names none. Raises ``RepositoryError`` where git cannot read the repository."""
        if revision.startswith("-") or not revision.isprintable():
            return None
        try:
            return self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
        except RepositoryError:
            self._git("rev-parse", "--git-dir")
            return None

    def entries(self, inside: Sequence[str], commit: str = "HEAD") -> list[Entry]:
        """The files of ``commit`` below the paths ``inside``, which are relative to the root.

        Raises ``RepositoryError``, and ``TooLarge`` for more files than can be listed in ``_MOST_LISTED`` bytes.
        """
        text = self._listed("ls-tree", "-r", "-z", "--full-tree", commit, "--", *inside)
        rows = [row.partition("\t") for row in text.split("\0") if row]
        return [Entry(*(head.split(" ")[0], head.split(" ")[2]), path) for head, _, path in rows]

    def indexed(self, inside: str) -> list[str]:
        """The paths of the files in git's index below ``inside``; all are relative to the root. Raises
        ``RepositoryError``."""
        return [name for name in self._git("ls-files", "-z", "--", inside).split("\0") if name]

    def differs(self, inside: Sequence[str]) -> bool:
        """Whether the files below the paths ``inside`` differ from those of the commit, or there are further ones that
        no ``.gitignore`` names.

        What counts is the bytes, and whether a file is a link. The executable bit does not count, since it changes
        nothing that is compiled. Line ends that git converts to CRLF, and files whose content Git LFS fetched, count as
        unchanged. What any other filter has changed counts as different. Raises ``RepositoryError``.
        """
        entries = self.entries(inside)
        if any(self._changed(entry) for entry in entries):
            return True
        # The files that .gitignore lists, but not .git/info/exclude, which no commit has.
        args = ("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", "--", *inside)
        modules = tuple(f"{entry.path}/" for entry in entries if entry.mode == MODULE)
        others = [name for name in self._git(*args).split("\0") if name and not name.startswith(modules)]
        # A file that is staged and not committed is in the index, and so none of the others.
        known = {entry.path for entry in entries}
        staged = [name for path in inside for name in self.indexed(path) if name not in known]
        return bool(others or staged)

    def contents(self, entries: Iterable[Entry], most_bytes: int) -> Iterator[tuple[Entry, bytes | None]]:
        """The content of each of ``entries`` as git stores it, without filters; ``None`` for one of more than
        ``most_bytes``.

        Raises ``RepositoryError`` for an object that is absent, as in a partial clone.
        """
        try:
            process = subprocess.Popen(
                self._command("cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        except OSError as error:
            raise self._error(error) from None
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            for entry in entries:
                try:
                    process.stdin.write(f"{entry.digest}\n".encode())
                    process.stdin.flush()
                except BrokenPipeError:
                    raise self._error(f"git cat-file has ended before {entry.path}") from None
                _, kind, *size = process.stdout.readline().decode().split() or ("", "nothing")
                if kind != "blob":
                    raise self._error(f"{entry.path}, {entry.digest}, is {kind} in the repository")
                yield entry, _content(process.stdout, int(size[0]), most_bytes)
                process.stdout.read(1)  # a line end follows each

    def _changed(self, entry: Entry) -> bool:
        file = self.top / entry.path
        if entry.mode == MODULE:
            return self._module_changed(file, entry.digest)
        try:
            is_link = stat.S_ISLNK(file.lstat().st_mode)
            if is_link != (entry.mode == LINK):
                return True
            content = os.fsencode(os.readlink(file)) if is_link else read_bytes(file, file.stat().st_size)
        except OSError:
            return True
        return entry.digest not in _digests(content, len(entry.digest), is_link)

    def _module_changed(self, folder: Path, commit: str) -> bool:
        """Whether a submodule is at another commit or differs from it; one that is not checked out does not."""
        if not (folder / ".git").exists():
            return folder.is_dir() and any(folder.iterdir())
        inner = Repository(folder)
        return inner.commit() != commit or inner.differs(["."])

    def refusal(self) -> str | None:
        """Why git itself would read nothing here for this user, in its own words: the repository belongs to somebody
        else, and the user's ``safe.directory`` does not name it. ``None`` where it would.

        The other questions name the folder ``.git``, of which git does not ask this. Raises ``RepositoryError`` where
        git is not installed.
        """
        own = {name: _ENVIRONMENT[name] for name in ("GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "LC_ALL")}
        given = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            done = subprocess.run(
                ["git", "-C", str(self.top), "--no-pager", *_OFF, "rev-parse", "--git-dir"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                check=False,
                timeout=_SECONDS,
                env=given | own,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise self._error(error) from None
        first = (done.stderr.strip().splitlines() or [""])[0]
        return first.removeprefix("fatal: ") if done.returncode and _DUBIOUS in first else None

    def _listed(self, *args: str) -> str:
        """What git prints, up to ``_MOST_LISTED`` bytes; raises ``TooLarge`` for more, and ``RepositoryError``."""
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    self._command(*args),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=_environment(),
                )
            except OSError as error:
                raise self._error(error) from None
            # A tree of trees without files takes forever and prints nothing.
            late = threading.Timer(_SECONDS, process.kill)
            late.start()
            try:
                with process:
                    assert process.stdout is not None
                    content = process.stdout.read(_MOST_LISTED + 1)
                    if len(content) > _MOST_LISTED:
                        process.kill()
            finally:
                late.cancel()
            if len(content) > _MOST_LISTED:
                raise TooLarge(f"{self.top}: the names of the commit's files have more than {_MOST_LISTED >> 20} MiB")
            if process.returncode:
                errors.seek(0)
                why = errors.read(_MOST_ERROR).decode(errors="surrogateescape").strip().splitlines()
                raise self._error(why[0] if why else f"git has ended with {process.returncode}")
        return content.decode(errors="surrogateescape")

    def _git(self, *args: str) -> str:
        try:
            done = subprocess.run(
                self._command(*args),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                check=True,
                timeout=_SECONDS,
                env=_environment(),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise self._error(error) from None
        return done.stdout

    def _command(self, *args: str) -> list[str]:
        where = (f"--git-dir={self.top / '.git'}", f"--work-tree={self.top}")
        return ["git", "-C", str(self.top), "--no-pager", *where, "--literal-pathspecs", *_OFF, *args]

    def _error(self, what: object) -> RepositoryError:
        if isinstance(what, subprocess.CalledProcessError) and what.stderr.strip():
            what = what.stderr.strip().splitlines()[0]
        return RepositoryError(f"{self.top}: git cannot be asked what is committed ({what})")


def _environment() -> dict[str, str]:
    # A hook of git's names its own repository in the environment, and tracing writes files.
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ENVIRONMENT


def _content(stream: IO[bytes], size: int, most_bytes: int) -> bytes | None:
    """The next ``size`` bytes of ``stream``; ``None`` for more than ``most_bytes``, which are skipped."""
    if size <= most_bytes:
        return stream.read(size)
    while size > 0:
        size -= len(stream.read(min(size, most_bytes))) or size
    return None


def repository_of(path: Path) -> Repository | None:
    """The innermost git work tree that contains ``path``; ``None`` outside of one."""
    place = path.absolute()
    return next((Repository(top) for top in (place, *place.parents) if (top / ".git").exists()), None)


def committed_below(folder: Path) -> str | None:
    """The absolute path of a file at or below ``folder`` that some work tree has in its index; ``None`` where there is
    none.

    Both the folder's own path and the one that its links lead to are looked at. Raises ``RepositoryError``.
    """
    for place in dict.fromkeys((folder.absolute(), folder.resolve())):
        for one in _around(place):
            files = one.indexed(os.path.relpath(place, one.top))
            if files:
                return str(one.top / files[0])
    return None


def _around(place: Path) -> Iterator[Repository]:
    """Every work tree that ``place`` is in: a repository may have another one inside, as a submodule or as files."""
    for top in (place, *place.parents):
        if (top / ".git").exists():
            yield Repository(top)


def _digests(content: bytes, length: int, is_link: bool) -> Iterator[str]:
    """The hashes, of ``length`` hexadecimal digits, under which a commit may have ``content``."""
    yield _blob(content, length)
    if is_link:
        return
    if b"\r\n" in content:
        yield _blob(content.replace(b"\r\n", b"\n"), length)
    pointer = _LFS.format(digest=hashlib.sha256(content).hexdigest(), size=len(content))
    yield _blob(pointer.encode(), length)


def _blob(content: bytes, length: int) -> str:
    """Git's name of a file with ``content``: SHA-1 of 40 digits, or SHA-256 of 64."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.hexdigest()
