"""What `make speed` measures: a verdict after a change that is one, in the environment of a user."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from conformance.files import kernels_folder

SPEED = Path(__file__).parents[1] / "speed"


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch):
    """A module of tests/speed, which is a program's folder and no package."""

    def module(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(SPEED))
        return importlib.import_module(name)

    yield module
    for name in ("edits", "trees"):
        sys.modules.pop(name, None)


def test_an_edit_changes_one_kernel_each_time_and_no_line_number(speed) -> None:
    text = (kernels_folder() / "unary.hip").read_text()
    one, other = (speed("edits").edited(text, number) for number in (1, 2))
    assert len({text, one, other}) == 3
    changed = [(old, new) for old, new in zip(text.splitlines(), one.splitlines(), strict=True) if old != new]
    ((old, new),) = changed
    before, after = old.split("UNARY(exp, f32)")
    assert new.startswith(f'{before}extern "C" __global__ ')
    assert new.endswith(f"}}{after}")
    assert "uexp_f32(const size_t numel," in new
    assert "const f32 *inp, f32 *out) { if (numel == (1ull << 40) + 1) return; run(" in new


def test_a_file_that_is_not_as_expected_is_named(speed) -> None:
    edits = speed("edits")
    with pytest.raises(edits.CannotEdit, match=r"unary\.hip"):
        edits.edited("UNARY(exp, f32)", 1)


def test_byte_code_is_kept_as_a_user_has_it(speed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trees = speed("trees")
    said: list[dict[str, str]] = []
    real = subprocess.Popen

    def noted(words: list[str], **settings: object):
        said.append(settings["env"])
        return real(words, **settings)

    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(trees.subprocess, "Popen", noted)
    with trees.Tree.at("this", trees.ROOT) as tree:
        assert tree.timed("--help").seconds > 0
        (environment,) = said
        assert "PYTHONDONTWRITEBYTECODE" not in environment
        assert environment["CANDLE_PARITY_CACHE"] == str(tree.own / "cache")
        tree.edit(1)
        assert tree.kernels.joinpath("unary.hip").read_text() != (trees.ROOT / "kernels/unary.hip").read_text()
    assert not tree.own.exists()


@pytest.mark.slow("makes a worktree")
def test_the_worktree_of_a_commit_goes_with_its_figures(speed) -> None:
    trees = speed("trees")
    if trees._git("rev-parse", "HEAD").returncode:
        pytest.skip("this is no checkout")
    with trees.worktree("HEAD") as place:
        assert (place / "kernels" / "unary.hip").is_file()
    assert not place.exists()
    assert str(place) not in trees._git("worktree", "list").stdout
    with pytest.raises(RuntimeError, match="--against no-such-commit: "), trees.worktree("no-such-commit"):
        pass
