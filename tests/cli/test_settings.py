"""Settings: the command line and the pytest options fill the same ones."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.cli.main import build_parser
from conformance.pytest_plugin import pytest_addoption
from conformance.settings import OPTIONS, PREFIX, Settings


def pytest_options(*words: str) -> dict[str, object]:
    """What the plugin's options hold, by their names without ``parity_``."""
    parser = pytest.Parser(_ispytest=True)
    pytest_addoption(parser)
    options = vars(parser.parse_known_args(list(words)))
    return {name.removeprefix(PREFIX): value for name, value in options.items() if name.startswith(PREFIX)}


def test_every_row_is_an_option_of_its_commands_and_of_no_other() -> None:
    parser = build_parser()
    for command in ("run", "replay", "record", "bench", "check", "build", "report", "list", "export", "doctor"):
        known = parser.of(command)._option_string_actions
        for row in OPTIONS:
            if command in row.commands:
                assert all(known[flag].dest == row.name for flag in row.flags)
    assert {row.name for row in Settings.rows()} <= vars(parser.parse_args(["run"])).keys()


def test_the_command_line_and_pytest_come_to_the_same() -> None:
    words = ["--runtime", "cpu", "--wave", "32", "--kernels", "port", "--compile-timeout", "5", "--no-sandbox"]
    settings = Settings.of(vars(build_parser().parse_args(["run", *words])))
    assert settings == Settings.of(pytest_options(*(word.replace("--", "--parity-") for word in words)))
    assert (settings.runtime, settings.wave, settings.kernels) == ("cpu", 32, Path("port"))
    assert (settings.compile_seconds, settings.sandbox) == (5.0, False)


def test_what_is_not_given_has_its_default() -> None:
    assert Settings.of(pytest_options()) == Settings()
    assert set(pytest_options().values()) == {None}
    assert Settings.of(vars(SimpleNamespace(runtime=None, json="f"))) == Settings()


def test_the_options_of_pytest() -> None:
    settings = {
        "runtime",
        "wave",
        "kernels",
        "config",
        "compiler",
        "compile_seconds",
        "all_cases",
        "sandbox",
        "own",
        "pinned",
    }
    gates = {"fail_under", "fail_under_launchers", "fail_under_own", "baseline", "strict"}
    assert pytest_options().keys() == {*settings, *gates, "json"}


def test_a_file_fills_what_the_command_line_leaves_open() -> None:
    file = Settings(runtime="isa", kernels=Path("port"), defines=("A",), wave=64, arch="gfx942")
    assert Settings(wave=32).filled(file) == Settings(wave=32, runtime="isa", arch="gfx942")
    assert Settings(runtime="cpu", arch="gfx1100").filled(file) == Settings(runtime="cpu", arch="gfx1100", wave=64)


def test_a_failure_is_shown_again_with_what_was_given() -> None:
    given = ["--kernels", "my port", "-D", "A=1", "-D", "B", "--order", "reverse", "--seed-salt", "x", "-j", "3"]
    settings = Settings.of(vars(build_parser().parse_args(["run", *given])))
    command = settings.repeated(["candle-parity", "run"])
    assert command == "candle-parity run --seed-salt x --kernels 'my port' -D A=1 -D B --order reverse"
