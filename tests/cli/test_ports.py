"""``ports``: each port of a list is judged at its commit, as its row or the port itself declares."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conformance.cache import locked
from conformance.record import read_record
from tests.cli.small_port import small_port
from tests.commands import answer

RUN = "--runtime cpu --jobs 1 --order forward fill_u32 fill_u8"


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def listed(folder: Path, commit: str, more: str = "") -> Path:
    text = f'[[port]]\nname = "mine"\nrepository = "https://git.example/mine"\ncommit = "{commit}"\n'
    (folder / "ports.toml").write_text(f'{text}kernels = "mine/port"\nruns = ["{RUN}"]\n{more}')
    return folder / "ports.toml"


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    small_port(tmp_path / "mine")
    for words in (["init"], ["add", "."], ["commit", "-m", "first"]):
        git(tmp_path / "mine", *words)
    return tmp_path


def test_the_declaration_of_a_port_does_not_take_the_place_of_the_list(checkouts: Path, capfd) -> None:
    listed(checkouts, git(checkouts / "mine", "rev-parse", "HEAD"), 'defines = ["MINE=1"]\n').rename(
        checkouts / "mine.toml"
    )
    before = (checkouts / "mine.toml").read_text()
    said = answer(capfd, "ports", checkouts / "mine.toml", "--checkouts", checkouts, "--out", checkouts / "out")
    assert (said.code, "would overwrite it" in said.err) == (2, True)
    assert (checkouts / "mine.toml").read_text() == before


@pytest.mark.slow("whole runs by the command")
def test_a_port_is_judged_as_its_row_declares(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commit = git(checkouts / "mine", "rev-parse", "HEAD")
    row = 'defines = ["MINE=1"]\nlaunch = [{ kernels = "fill_u32", block = [64] }]\n'
    words = ("ports", listed(checkouts, commit, row), "--checkouts", checkouts, "--out", checkouts / "out")
    said = answer(capfd, *words)
    assert said.code == 0, said.err
    (file,) = (checkouts / "out").iterdir()
    record = read_record(file)
    assert record.run.port is not None
    assert (record.run.port.name, record.run.port.commit) == ("mine", commit)
    assert record.run.options == ("-D MINE=1",)
    rows = {kernel.name: kernel for kernel in record.kernels}
    assert (rows["fill_u32"].status, rows["fill_u32"].geometry is None) == ("pass", False)
    assert "--config mine.toml" in rows["fill_u8"].failures[0].reproduce


@pytest.mark.slow("a whole run by the command")
def test_a_row_may_be_long(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    row = f"defines = [{', '.join(repr(f'MINE_{number}=1') for number in range(1500))}]\n"
    file = listed(checkouts, git(checkouts / "mine", "rev-parse", "HEAD"), row)
    said = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts / "out")
    assert said.code == 0, said.err


def test_what_a_port_declares_of_itself_is_respected(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (checkouts / "mine" / "candle-parity.toml").write_text('kernels = "port"\n')
    commit = git(checkouts / "mine", "rev-parse", "HEAD")
    file = listed(checkouts, commit, 'defines = ["MINE=1"]\n')
    refused = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts)
    assert refused.code == 2
    assert "mine/candle-parity.toml declares the port; leave defines out of its row in the list" in refused.err


@pytest.mark.parametrize(
    ("commit", "change", "said"),
    [
        ("b" * 40, ("", ""), "not at bbbbbbbbbbbb; in "),
        ("b" * 40, ("mine/port", "mine/absent"), "there is no such folder; in "),
        ("b" * 40, ('"mine"', '"../mine"'), "port 1: name must be letters, digits, '.' and '-'"),
        ("b" * 40, ("commit", "comit"), "port 1: commit must be a text that is not empty"),
        ("b" * 12, ("", ""), "commit a whole one of 40 digits"),
        ("b" * 40, ("https://", "ext::sh -c "), "repository an https:// address"),
        ("b" * 40, ("https://", "https://git.example/; true; "), "repository an https:// address"),
        ("b" * 40, ('"mine"', '"-mine"'), "port 1: name must be letters, digits, '.' and '-'"),
        ("b" * 40, ("mine/port", "yours/port"), "kernels must be a path in the port's own folder, mine/..."),
        ("b" * 40, ("mine/port", "mine/../../port"), "kernels must be a path in the port's own folder, mine/..."),
        ("b" * 40, ("mine/port", "/mine/port"), "kernels must be a path in the port's own folder, mine/..."),
        ("b" * 40, ("[[port]]", "[[ports]]"), "lists no port; add a [[port]] with name, repository, commit"),
        ("b" * 40, ("[[port]]", "[[port"), "cannot be read as TOML"),
    ],
)
@pytest.mark.slow("runs the command for each row")
def test_a_list_that_cannot_be_judged_is_a_sentence(
    checkouts: Path, capfd: pytest.CaptureFixture[str], commit: str, change: tuple[str, str], said: str
) -> None:
    file = listed(checkouts, commit)
    file.write_text(file.read_text().replace(*change))
    refused = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts / "out")
    assert (refused.code, said in refused.err) == (2, True), refused.err


@pytest.mark.slow("runs the command several times")
@pytest.mark.parametrize(
    "word",
    [
        *("--kernels yours", "--kernels=yours", "--config yours.toml", "--no-sandbox", "--no-sand", "--html /tmp/a"),
        *(
            "--json=/tmp/a",
            "-j4",
            "--reuse",
            "--baseline a",
            "--runtime",
            "--wave --no-sandbox",
            "'/etc/passwd'",
            "'a;b'",
        ),
    ],
)
def test_a_run_of_a_row_holds_nothing_that_says_which_kernels_by_what_guard_or_to_where(
    checkouts: Path, capfd: pytest.CaptureFixture[str], word: str
) -> None:
    file = listed(checkouts, git(checkouts / "mine", "rev-parse", "HEAD"))
    file.write_text(file.read_text().replace(RUN, f"{RUN} {word}"))
    refused = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts / "out")
    assert (refused.code, "is not taken; a run is kernel patterns and" in refused.err) == (2, True), refused.err
    assert not (checkouts / "out").exists()


def test_two_runs_do_not_write_one_record(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = listed(checkouts, git(checkouts / "mine", "rev-parse", "HEAD"))
    file.write_text(file.read_text().replace(f'"{RUN}"', '"--wave 64", "wave --wave=64", "--wave=64"'))
    refused = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts / "out")
    assert (refused.code, "would both write mine.wave-64.json.xz" in refused.err) == (2, True), refused.err


def test_two_processes_do_not_write_one_record(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = listed(checkouts, git(checkouts / "mine", "rev-parse", "HEAD"))
    file.write_text(file.read_text().replace(RUN, "--wave 64"))
    (checkouts / "out").mkdir()
    with locked(checkouts / "out" / "mine.wave-64.json.lock", 0.0) as ours:
        assert ours
        refused = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts / "out")
    assert (refused.code, "another candle-parity ports is writing it" in refused.err) == (2, True), refused.err


def test_kernels_that_lead_out_of_the_checkout_are_refused(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (checkouts / "mine" / "port").rename(checkouts / "elsewhere")
    (checkouts / "mine" / "port").symlink_to(checkouts / "elsewhere")
    for words in (["add", "."], ["commit", "-m", "second"]):
        git(checkouts / "mine", *words)
    file = listed(checkouts, git(checkouts / "mine", "rev-parse", "HEAD"))
    refused = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts / "out")
    assert (refused.code, "leads out of the checkout" in refused.err) == (2, True), refused.err


def test_a_port_that_is_at_its_commit_but_changed_is_refused(
    checkouts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = listed(checkouts, git(checkouts / "mine", "rev-parse", "HEAD"))
    (checkouts / "mine" / "port" / "more.h").write_text("")
    refused = answer(capfd, "ports", file, "--checkouts", checkouts, "--out", checkouts / "out")
    assert (refused.code, "-dirty, not at " in refused.err) == (2, True), refused.err


def test_a_port_that_is_not_listed_is_named(checkouts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("ports", listed(checkouts, "b" * 40), "--checkouts", checkouts, "--out", checkouts, "--only", "yours")
    refused = answer(capfd, *words)
    assert (refused.code, "has no port 'yours'; it has mine" in refused.err) == (2, True)
