"""``--compiler``: for the rocm runtime, and only what is there."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

from conformance.cli.main import build_parser
from conformance.errors import UsageError
from conformance.runtimes import runtime_kind
from conformance.runtimes.kind import Choice
from conformance.session import setup as setting_up
from conformance.session.setup import compiler_for, setup_from, tree_from
from conformance.settings import COMPILERS, Settings
from conformance.spec.load import load_specs
from conformance.toolchains import amd as toolchain


@pytest.mark.parametrize("asked", ["hiprtc", "hipcc"])
def test_the_cpu_runtime_has_one_compiler(cli, asked: str) -> None:
    said = cli("run", "--runtime", "cpu", "--compiler", asked, "fill_u8")
    assert said.code == 2
    assert said.err == (
        f"candle-parity: --compiler {asked} is for the rocm runtime; the cpu runtime has one compiler, its own: leave "
        "the option out\n"
    )


def test_where_nothing_is_compiled_there_is_nothing_to_choose() -> None:
    with pytest.raises(UsageError, match="--compiler hipcc is for the rocm runtime; nothing is compiled here"):
        compiler_for("hipcc", None)
    assert compiler_for("auto", None) == "auto"


def test_a_hipcc_that_is_not_there_is_bad_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(toolchain.ENVIRONMENT, raising=False)
    monkeypatch.setattr(toolchain, "rocm_roots", list)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError) as caught:
        compiler_for("hipcc", runtime_kind("rocm"))
    said = str(caught.value)
    for part in ("--compiler hipcc: ", "no ROCm in ROCM_PATH", "no clang++", "install ROCm", "--compiler hiprtc"):
        assert part in said
    assert "\n" not in said
    assert "zig" not in said
    rocm = runtime_kind("rocm")
    assert (compiler_for("auto", rocm), compiler_for("hiprtc", rocm)) == ("auto", "hiprtc")


@pytest.mark.parametrize("asked", COMPILERS)
def test_the_choice_is_in_the_setup_and_in_the_command_that_shows_a_failure_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: str
) -> None:
    (tmp_path / "fill.hip").touch()
    monkeypatch.setattr(setting_up, "choose", Choice)
    monkeypatch.setattr(setting_up, "require_hipcc", lambda: None)
    words = [
        "run",
        "--runtime",
        "rocm",
        "--kernels",
        str(tmp_path),
        *(["--compiler", asked] if asked != "auto" else []),
    ]
    arguments: argparse.Namespace = build_parser().parse_args(words)
    settings = Settings.of(vars(arguments))
    setup = setup_from(settings, ["candle-parity", "run"], tree_from(settings, load_specs(), None))
    assert setup.compiler == asked
    again = build_parser().parse_args(shlex.split(setup.command)[1:])
    assert Settings.of(vars(again)).compiler == asked


def test_every_command_that_launches_has_the_option() -> None:
    for words in (["run"], ["replay", "traces"], ["record", "out"], ["bench"]):
        assert build_parser().parse_args([*words, "--compiler", "hipcc"]).compiler == "hipcc"
