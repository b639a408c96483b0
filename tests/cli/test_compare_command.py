"""``compare``: two commits of a port, judged without touching its work tree."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conformance import commit_files
from conformance.cli.commands.compare import _folder
from conformance.files import own_module
from conformance.repository import Repository
from tests.cli.small_port import small_port
from tests.commands import Said, answer, refused

CASES = ("fill_u32(shape=[4],value=pattern)", "fill_f32(shape=[4],value=pattern)")
RIGHT, WRONG = "buf[i] = value;", "buf[i] = value + 1;"


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "advice.detachedHead=false"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(top: Path, old: str, new: str, name: str) -> None:
    """Replace ``old`` in the port by ``new``, and commit it with the tag ``name``."""
    file = top / "port" / "fill.hip"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    git(top, "commit", "--quiet", "--all", "--message", name)
    git(top, "tag", name)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a port's repository, with the tags ``right``, ``wrong`` and ``gone``, which is checked out."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "empty")
    git(folder, "tag", "empty")
    small_port(folder)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "right")
    git(folder, "tag", "right")
    committed(folder, RIGHT, WRONG, "wrong")
    committed(folder, "FILL(fill_f32, float)", "", "gone")
    return folder


def compared(capfd: pytest.CaptureFixture[str], old: str, new: str, *words: object) -> Said:
    return answer(capfd, "compare", old, new, "--kernels", "port", "--runtime", "cpu", "-j", "1", *words)


@pytest.mark.nightly("two whole runs by the command")
def test_what_became_worse_and_what_vanished_is_exit_code_1(top: Path, capfd, tmp_path: Path) -> None:
    (top / "port" / "fill.hip").write_text("not committed, and not C++")
    index = (top / ".git" / "index").read_bytes()
    said = compared(capfd, "right", "gone", *CASES, "--json", tmp_path / "told.json")
    assert said.code == 1, said.err
    assert "fill_u32: pass -> fail" in said.out
    assert "fill_f32: pass -> missing" in said.out
    told = json.loads((tmp_path / "told.json").read_text())
    assert [(row["kernel"], row["kind"]) for row in told["worse"]] == [("fill_u32", "changed"), ("fill_f32", "gone")]
    assert told["old"]["record"] == f"right ({git(top, 'rev-parse', 'right')[:12]})"
    assert (top / "port" / "fill.hip").read_text() == "not committed, and not C++"
    assert (top / ".git" / "index").read_bytes() == index


@pytest.mark.nightly("two whole runs by the command")
def test_what_became_better_and_what_appeared_is_exit_code_0(top: Path, capfd) -> None:
    said = compared(capfd, "gone", "right", *CASES, "--json", "-")
    assert said.code == 0, said.err
    told = json.loads(said.out)
    assert [(row["kernel"], row["kind"]) for row in told["better"]] == [("fill_u32", "changed"), ("fill_f32", "new")]


@pytest.mark.slow("two whole runs by the command")
def test_a_kernel_whose_code_did_not_change_is_not_run_again(top: Path, capfd) -> None:
    git(top, "checkout", "--quiet", "right")
    (top / "README").write_text("another commit\n")
    git(top, "add", "README")
    git(top, "commit", "--quiet", "--message", "readme")
    said = compared(capfd, "right", "HEAD", CASES[0], "--seed-salt", top.parent.name)
    assert (said.code, said.out.count("1 kernel not run again: the code is the same")) == (0, 1)


@pytest.mark.slow("a run by the command")
def test_a_commit_that_cannot_be_judged_is_skipped(top: Path, capfd) -> None:
    said = compared(capfd, "empty", "right", CASES[0])
    assert said.code == 125
    assert said.err.splitlines()[-1] == "candle-parity: empty cannot be judged; what is above says why"


def test_a_word_that_is_no_commit_is_bad_input(top: Path, capfd) -> None:
    refused(compared(capfd, "right", "nowhere"), "nowhere", "no commit")


def test_a_repository_that_git_cannot_read_is_bad_input(top: Path, capfd) -> None:
    with (top / ".git" / "config").open("a") as file:
        file.write("broken[")
    refused(compared(capfd, "right", "wrong"), "bad config line")


def test_a_commit_that_cannot_be_written_here_is_skipped(top: Path, capfd) -> None:
    blob = git(top, "rev-parse", "HEAD:port/fill.hip")
    git(top, "update-index", "--add", "--cacheinfo", f"100644,{blob},{'x' * 300}")
    git(top, "commit", "--quiet", "--message", "long")
    said = compared(capfd, "HEAD", "right")
    assert said.code == 125
    assert "File name too long" in said.err


def test_commits_that_another_process_compares_are_skipped(top: Path, capfd) -> None:
    with _folder(Repository(top)):
        said = compared(capfd, "right", "wrong")
    assert said.code == 125
    assert "another process compares commits" in said.err


def test_a_comparison_that_does_not_end_leaves_no_older_one(top: Path, capfd, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    told.write_text("{}")
    refused(compared(capfd, "right", "nowhere", "--json", told), "no commit")
    assert not told.exists()


def test_kernels_outside_of_the_repository_are_bad_input(top: Path, capfd, tmp_path: Path) -> None:
    refused(answer(capfd, "compare", "right", "wrong", "--kernels", tmp_path / "port"), "lies outside of")


def test_a_folder_outside_of_a_repository_is_bad_input(tmp_path: Path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(tmp_path)
    refused(compared(capfd, "right", "wrong"), "in no git repository")


def test_a_commit_that_is_too_large_is_bad_input(top: Path, capfd, monkeypatch) -> None:
    monkeypatch.setattr(commit_files, "MOST_TOTAL", 100)
    said = compared(capfd, "right", "wrong")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert "together, up to port/fill.hip; compare is for repositories of sources" in said.err


@pytest.fixture
def dubious(top: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same repository, of another user: git refuses it."""
    if os.geteuid() != 0:
        pytest.skip("needs root, which alone may give files away")
    monkeypatch.setenv("HOME", str(top.parent))  # no safe.directory of whoever runs the tests
    monkeypatch.setenv("XDG_CONFIG_HOME", str(top.parent))
    for place in (top, *top.rglob("*")):
        os.chown(place, 12345, 12345, follow_symlinks=False)
    asked = subprocess.run(["git", "-C", str(top), "status"], capture_output=True, text=True, check=False)
    assert "dubious ownership" in asked.stderr
    return top


@pytest.mark.slow("the command, on a commit without kernels")
def test_a_checkout_of_another_user_is_read_and_that_is_said(dubious: Path, capfd) -> None:
    said = compared(capfd, "empty", "right")
    assert said.code == 125  # as without another user: the first commit has no kernels
    assert "detected dubious ownership" in said.err
    assert "git itself refuses it; its objects are read all the same" in said.err


@pytest.mark.slow("the command, on a commit without kernels")
def test_nothing_is_said_of_a_repository_that_the_user_trusts(dubious: Path, capfd) -> None:
    config = ["git", "config", "--file", str(dubious.parent / ".gitconfig"), "safe.directory", str(dubious)]
    subprocess.run(config, check=True)
    assert "dubious" not in compared(capfd, "empty", "right").err


def test_a_repository_that_another_user_has_put_above_the_folder_is_bad_input(
    dubious: Path, capfd, monkeypatch
) -> None:
    mine = dubious / "mine"
    mine.mkdir()
    small_port(mine)
    monkeypatch.chdir(mine)
    refused(compared(capfd, "right", "wrong"), "dubious ownership", "this folder is not its owner's", "safe.directory")


@pytest.mark.nightly("four whole runs by the command")
def test_git_bisect_finds_the_commit_and_skips_what_cannot_be_judged(top: Path) -> None:
    git(top, "checkout", "--quiet", "right")
    for name in ("one", "two"):
        (top / "README").write_text(name)
        git(top, "add", "README")
        git(top, "commit", "--quiet", "--message", name)
    git(top, "mv", "port", "elsewhere")
    git(top, "commit", "--quiet", "--message", "no port")
    git(top, "mv", "elsewhere", "port")
    git(top, "commit", "--quiet", "--message", "a port again")
    committed(top, RIGHT, WRONG, "culprit")
    (top / "README").write_text("three")
    git(top, "commit", "--quiet", "--all", "--message", "three")
    git(top, "bisect", "start", "HEAD", "right")
    compare = ["compare", "right", "HEAD", "--kernels", "port", "--runtime", "cpu", "-j", "1", CASES[0]]
    done = subprocess.run(
        ["git", "bisect", "run", *own_module("conformance"), *compare],
        check=False,
        cwd=top,
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{git(top, 'rev-parse', 'culprit')} is the first bad commit" in done.stdout
