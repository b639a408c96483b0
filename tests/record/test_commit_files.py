"""A commit's files are written as the object store has them: nothing of a stranger's repository runs, and no file lands
elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance import commit_files, repository
from conformance.commit_files import write_files
from conformance.repository import Repository, RepositoryError, TooLarge
from tests.record.test_strange_repository import evil, git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with a kernel, a script, a link, and a line end that a checkout would convert."""
    folder = tmp_path / "repository"
    (folder / "port" / "include").mkdir(parents=True)
    (folder / "port" / "fill.hip").write_text("// first\n")
    (folder / "port" / "include" / "link.h").symlink_to("../fill.hip")
    (folder / "make.sh").write_text("#!/bin/sh\n")
    (folder / "make.sh").chmod(0o755)
    (folder / ".gitattributes").write_text("*.hip text eol=crlf\n/make.sh export-ignore\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def written(top: Path, revision: str = "HEAD") -> tuple[Path, commit_files.Written]:
    commit = Repository(top).commit_named(revision)
    assert commit is not None
    folder = top.parent / "written"
    folder.mkdir()
    return folder, write_files(Repository(top), commit, folder)


def test_the_files_are_those_of_the_commit(top: Path) -> None:
    (top / "port" / "fill.hip").write_text("// not committed\n")
    folder, found = written(top)
    assert (folder / "port" / "fill.hip").read_bytes() == b"// first\n"
    assert os.readlink(folder / "port" / "include" / "link.h") == "../fill.hip"
    assert os.access(folder / "make.sh", os.X_OK)
    assert list(found.sentences()) == []


def test_no_program_that_the_repository_names_is_run(top: Path) -> None:
    commit = git(top, "rev-parse", "HEAD")
    ran = evil(top / "port")
    index = (top / ".git" / "index").read_bytes()
    folder, _ = written(top, commit)
    assert (folder / "port" / "fill.hip").read_text() == "// first\n"
    assert not ran.exists()
    assert (top / ".git" / "index").read_bytes() == index


def test_what_a_checkout_would_have_otherwise_is_said(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_files, "MOST_BYTES", 1 << 20)
    (top / "model.bin").write_bytes(bytes((1 << 20) + 1))
    (top / "data.h").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n")
    (top / "port" / "out.h").symlink_to("../../secret.h")
    (top / "port" / "whole.h").symlink_to("/etc/passwd")
    git(top, "add", ".")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{git(top, 'rev-parse', 'HEAD')},third/party")
    git(top, "commit", "--quiet", "--message", "second")
    folder, found = written(top)
    assert list(found.sentences()) == [
        "left out: 1 submodule of which other repositories have the files (third/party)",
        "without content: 1 file of which the repository has only a pointer of Git LFS (data.h)",
        "left out: 2 symbolic links out of the repository (port/out.h, port/whole.h)",
        "left out: 1 file of more than 1 MiB (model.bin)",
    ]
    assert not os.path.lexists(folder / "port" / "out.h")
    assert not (folder / "model.bin").exists()
    assert (folder / "port" / "fill.hip").read_text() == "// first\n"


def tree(top: Path, *rows: tuple[str, str, bytes]) -> str:
    """A commit with a tree that git would not make: rows of mode, name and the object's hash."""
    content = b"".join(f"{mode} {name}\0".encode() + digest for mode, name, digest in rows)
    words = ["git", "-C", str(top), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    made = subprocess.run(words, input=content, capture_output=True, check=True).stdout.decode().strip()
    return git(top, "commit-tree", "-m", "strange", made)


@pytest.mark.parametrize("names", [["..", "a"], [".git", "a"], ["a", "a"]], ids=["above", "git's own", "twice"])
def test_a_path_that_no_checkout_has_is_refused(top: Path, names: list[str]) -> None:
    blob = bytes.fromhex(git(top, "rev-parse", "HEAD:make.sh"))
    with pytest.raises(RepositoryError, match="which no checkout can have"):
        written(top, tree(top, *(("100644", name, blob) for name in names)))


def test_no_file_is_written_through_a_link(top: Path) -> None:
    blob = bytes.fromhex(git(top, "rev-parse", "HEAD:make.sh"))
    below = bytes.fromhex(git(top, "rev-parse", "HEAD:port/include"))
    with pytest.raises(RepositoryError, match="which no checkout can have"):
        written(top, tree(top, ("120000", "a", blob), ("40000", "a", below)))


def test_a_link_that_leads_out_behind_another_one_is_left_out(top: Path) -> None:
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "root").symlink_to("../..")
    (top / "out").symlink_to("a/b/root/../../secret")  # by its path alone: a/secret
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message", "second")
    folder, found = written(top)
    assert found.links == ("out",)
    assert not os.path.lexists(folder / "out")


def test_the_content_is_that_of_the_hash_whatever_replaces_it(top: Path) -> None:
    commit = git(top, "rev-parse", "HEAD")
    (top / "port" / "fill.hip").write_text("// other\n")
    git(top, "commit", "--quiet", "--all", "--message", "second")
    git(top, "replace", commit, git(top, "rev-parse", "HEAD"))
    folder, _ = written(top, commit)
    assert (folder / "port" / "fill.hip").read_bytes() == b"// first\n"


def test_an_object_that_is_not_there_is_an_error(top: Path) -> None:
    digest = git(top, "rev-parse", "HEAD:make.sh")
    (top / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
    with pytest.raises(RepositoryError, match=r"make\.sh"):
        written(top)


@pytest.mark.parametrize("word", ["nowhere", "HEAD:make.sh", "--all", "HEAD\nHEAD", ""])
def test_a_word_that_names_no_commit_is_none(top: Path, word: str) -> None:
    assert Repository(top).commit_named(word) is None


def test_files_that_are_too_much_together_are_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_files, "MOST_TOTAL", 1 << 20)
    (top / "a.bin").write_bytes(bytes(1 << 19))
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message", "half of it")
    written(top)
    shutil.copy(top / "a.bin", top / "b.bin")  # one blob in the repository, two files
    shutil.copy(top / "a.bin", top / "c.bin")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "--message", "too much")
    shutil.rmtree(top.parent / "written")
    with pytest.raises(
        TooLarge, match=r"more than 1 MiB together, up to b\.bin; compare is for repositories of sources"
    ):
        written(top)


def test_a_tree_with_more_files_than_a_disk_is_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tree names the one below ten times: 10,000 files of four objects."""
    monkeypatch.setattr(repository, "_MOST_LISTED", 1 << 16)
    blob = bytes.fromhex(git(top, "rev-parse", "HEAD:make.sh"))
    rows = [("100644", f"{number}", blob) for number in range(10)]
    for _ in range(3):
        below = bytes.fromhex(git(top, "rev-parse", f"{tree(top, *rows)}^{{tree}}"))
        rows = [("40000", f"{number}", below) for number in range(10)]
    with pytest.raises(TooLarge, match="the names of the commit's files have more than"):
        written(top, tree(top, *rows))
