"""A stranger's repository is data: what its ``.git/config`` names is not executed, and its files are hashed here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.record.commits import commit_of, whole_commit_of
from conformance.repository import committed_below
from conformance.upstream.checkout import _commit as commit_of_candle

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
        check=True,
        capture_output=True,
        text=True,
        env={**inherited, "GIT_CONFIG_GLOBAL": os.devnull},
    )
    return done.stdout.strip()


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """The folder ``port`` of a repository: a kernel, a header and a link to it, all committed."""
    folder = tmp_path / "repository"
    (folder / "port").mkdir(parents=True)
    (folder / "port" / "unary.hip").write_text('#include "half.h"\n')
    (folder / "port" / "half.h").write_text("// one\n")
    (folder / "port" / "link.h").symlink_to("half.h")
    (folder / ".gitignore").write_text("*.o\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder / "port"


def evil(port: Path) -> Path:
    """Every setting by which git would run a program of the repository's choice, which makes the file returned."""
    top = port.parent
    ran, program = top.parent / "ran", top / ".git" / "evil"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\ncat\n")
    program.chmod(0o755)
    for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(program, top / ".git" / "hooks" / name)
    (top / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    (top / ".git" / "info" / "exclude").write_text("*\n")
    settings = {
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.process": program,
        "filter.evil.required": "true",
        "core.fsmonitor": program,
        "core.sshCommand": program,
        "core.pager": program,
        "core.editor": program,
        "core.hooksPath": top / ".git" / "hooks",
        "core.alternateRefsCommand": program,
        "diff.external": program,
        "diff.evil.textconv": program,
        "credential.helper": program,
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ext::sh -c evil",
        "remote.origin.uploadpack": program,
        "protocol.ext.allow": "always",
        "alias.ls-tree": f"!{program}",
        "alias.rev-parse": f"!{program}",
    }
    for name, value in settings.items():
        git(top, "config", name, str(value))
    return ran


def test_nothing_that_a_repository_names_is_executed(port: Path) -> None:
    head = git(port, "rev-parse", "HEAD")
    ran = evil(port)
    os.utime(port / "unary.hip", (1, 1))  # git would have to look at the content again, through the filter
    assert whole_commit_of(port) == (head, False)
    assert commit_of_candle(port.parent) == head
    assert committed_below(port) is not None
    (port / "half.h").write_text("// two\n")
    assert commit_of(port) == f"{head[:12]}-dirty"
    assert not ran.exists(), ran.read_text()


def test_an_absent_object_is_not_fetched(port: Path) -> None:
    ran = evil(port)
    tree = git(port, "rev-parse", "HEAD:port")
    (port.parent / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert commit_of(port) is None, "which files the commit has is not known"
    assert not ran.exists(), ran.read_text()


def _hidden(port: Path) -> None:
    (port / "more.h").write_text("// more\n")
    (port.parent / ".git" / "info" / "exclude").write_text("more.h\n")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a header", lambda port: (port / "half.h").write_text("// two\n")),
        ("the same size and time", lambda port: _same_time(port / "half.h", "// owo\n")),
        ("a link to elsewhere", lambda port: _link(port / "link.h", "unary.hip")),
        ("a file for a link", lambda port: _file(port / "link.h", "half.h")),
        ("a link for a file", lambda port: _link(port / "half.h", "link.h")),
        ("one less", lambda port: (port / "half.h").unlink()),
        ("one more", lambda port: (port / "more.h").write_text("// more\n")),
        ("one more, staged", lambda port: _staged(port / "more.h")),
        ("one more that is hidden by no commit", _hidden),
    ],
)
def test_a_difference_is_seen(port: Path, name: str, change: Callable[[Path], object]) -> None:
    change(port)
    head = git(port, "rev-parse", "--short=12", "HEAD")
    assert commit_of(port) == f"{head}-dirty", name


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("line ends of a checkout on Windows", lambda port: (port / "half.h").write_bytes(b"// one\r\n")),
        ("the executable bit", lambda port: (port / "half.h").chmod(0o755)),
        ("an ignored file", lambda port: (port / "unary.o").write_text("")),
        ("a change beside the port", lambda port: (port.parent / ".gitignore").write_text("*.o\n*.x\n")),
    ],
)
def test_what_makes_no_difference(port: Path, name: str, change: Callable[[Path], object]) -> None:
    change(port)
    assert commit_of(port) == git(port, "rev-parse", "--short=12", "HEAD"), name


def test_a_file_of_git_lfs_is_compared_by_its_pointer(port: Path) -> None:
    pointer = (
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\nsize 5\n"
    )
    (port / "affine.hsaco").write_text(pointer)
    git(port, "add", ".")
    git(port, "commit", "--quiet", "--message", "second")
    head = git(port, "rev-parse", "--short=12", "HEAD")
    (port / "affine.hsaco").write_text("hello")
    assert commit_of(port) == head
    (port / "affine.hsaco").write_text("hallo")
    assert commit_of(port) == f"{head}-dirty"


def test_a_repository_of_sha256(tmp_path: Path) -> None:
    (tmp_path / "unary.hip").write_text("// one\n")
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert (len(head), whole_commit_of(tmp_path)) == (64, (head, False))


def test_a_submodule_is_compared_without_its_settings(port: Path) -> None:
    inner = port / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    (inner / "a.h").write_text("// one\n")
    git(inner, "add", ".")
    git(inner, "commit", "--quiet", "--message", "first")
    git(port, "add", "inner")
    git(port, "commit", "--quiet", "--message", "second")
    ran = evil(inner / "a.h")
    head = git(port, "rev-parse", "--short=12", "HEAD")
    assert commit_of(port) == head
    (inner / "a.h").write_text("// two\n")
    assert commit_of(port) == f"{head}-dirty"
    assert not ran.exists(), ran.read_text()


def _same_time(file: Path, text: str) -> None:
    before = file.stat()
    assert before.st_size == len(text)
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _link(file: Path, target: str) -> None:
    file.unlink()
    file.symlink_to(target)


def _file(file: Path, text: str) -> None:
    file.unlink()
    file.write_text(text)


def _staged(file: Path) -> None:
    file.write_text("// more\n")
    git(file.parent, "add", file.name)
