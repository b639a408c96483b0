"""Settings: the command line and the pytest options fill the same ones."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.cli.main import build_parser
from conformance.cli.settings import Settings
from conformance.pytest_plugin import pytest_addoption


def pytest_options(*words: str) -> dict[str, object]:
    """What the plugin's options hold, by their names without ``parity_``."""
    parser = pytest.Parser(_ispytest=True)
    pytest_addoption(parser)
    options = vars(parser.parse_known_args(list(words)))
    return {name.removeprefix("parity_"): value for name, value in options.items() if name.startswith("parity_")}


def test_every_setting_is_an_option_of_run() -> None:
    assert set(Settings.names()) <= vars(build_parser().parse_args(["run"])).keys()


def test_the_command_line_and_pytest_come_to_the_same() -> None:
    words = ["--runtime", "cpu", "--wave", "32", "--kernels", "port", "--compile-timeout", "5", "--no-sandbox"]
    settings = Settings.of(vars(build_parser().parse_args(["run", *words])))
    assert settings == Settings.of(pytest_options(*(word.replace("--", "--parity-") for word in words)))
    assert (settings.runtime, settings.wave, settings.kernels) == ("cpu", 32, Path("port"))
    assert (settings.compile_timeout, settings.no_sandbox) == (5.0, True)


def test_what_is_not_given_has_its_default() -> None:
    assert Settings.of(pytest_options()) == Settings()
    assert Settings.of(vars(SimpleNamespace(runtime=None, json="f"))) == Settings()


def test_the_options_of_pytest_that_are_settings() -> None:
    found = pytest_options().keys() & set(Settings.names())
    assert found == {"runtime", "wave", "kernels", "config", "compiler", "compile_timeout", "no_sandbox"}
