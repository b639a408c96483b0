"""``wave`` and ``arch`` of a port's file: what kernels run on by default, and what the command line says instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.messages import Setup
from conformance.port.config import Config, SourceError, read_config
from conformance.runtimes.kind import Choice
from conformance.session import setup as setting_up
from conformance.session.setup import setup_from, tree_from
from conformance.settings import Settings
from conformance.spec.load import load_specs


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """``made(Settings(...), wave=32)``: the setup of a run where the file says so; no runtime is opened."""
    (tmp_path / "fill.hip").touch()
    monkeypatch.setattr(setting_up, "choose", Choice)
    monkeypatch.delenv("HIPISA_ARCH", raising=False)

    def make(given: Settings, **file: object) -> Setup:
        config = Config(tmp_path / "candle-parity.toml", Settings(kernels=tmp_path, **file))  # type: ignore[arg-type]
        tree = tree_from(given, load_specs(), config)
        return setup_from(given, ["candle-parity", "run"], tree, config)

    return make


def test_the_file_says_what_the_host_stands_in_for(made) -> None:
    assert (made(Settings(runtime="cpu"), wave=32).wave, made(Settings(runtime="cpu")).wave) == (32, 64)
    found = made(Settings(runtime="cpu"), arch="gfx1100")
    assert (found.arch, found.wave) == ("gfx1100", 32)
    assert "--wave 32 --arch gfx1100" in found.command


def test_the_command_line_wins(made) -> None:
    assert made(Settings(runtime="cpu", wave=64), wave=32).wave == 64
    found = made(Settings(runtime="cpu", arch="gfx942"), wave=32, arch="gfx1100")
    assert (found.arch, found.wave) == ("gfx942", 64)
    found = made(Settings(runtime="cpu", wave=32), arch="gfx942")
    assert (found.arch, found.wave) == (None, 32)


def test_a_gpu_says_itself_what_it_is(made) -> None:
    found = made(Settings(runtime="rocm"), wave=32, arch="gfx1100")
    assert (found.arch, "--wave" in found.command, "--arch" in found.command) == (None, False, False)


@pytest.mark.parametrize(
    ("given", "file", "declared"),
    [
        (Settings(), {"runtime": "cpu", "wave": 32}, ("runtime", "wave", "kernels")),
        (Settings(runtime="cpu"), {"arch": "gfx1100"}, ("arch", "kernels")),
        (Settings(runtime="cpu", wave=32), {"wave": 32}, ("kernels",)),
        (Settings(runtime="cpu", arch="gfx942"), {"wave": 32, "arch": "gfx1100"}, ("kernels",)),
        (Settings(runtime="cpu", wave=32), {"arch": "gfx942"}, ("kernels",)),
        (Settings(runtime="rocm"), {"wave": 32, "arch": "gfx1100"}, ("kernels",)),
    ],
)
def test_what_a_run_has_from_the_file_is_told_from_what_the_command_line_gave(
    made, given: Settings, file: dict[str, object], declared: tuple[str, ...]
) -> None:
    """Not what the file says in vain, because the command line or the device decides."""
    assert made(given, **file).declared_settings == declared


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wave = 48", "wave must be one of 32, 64, not a value of type int"),
        ("wave = 32.0", "wave must be one of 32, 64, not a value of type float"),
        ("wave = true", "wave must be one of 32, 64, not a value of type bool"),
        ('wave = "32"', "wave must be one of 32, 64, not '32'"),
        ("arch = 942", "arch must be a string, not a value of type int"),
        ("exclude = 1", "exclude must be tables, each under its [[exclude]]"),
        ('[[exclude]]\nkernels = "fill_u8"', "exclude, row 1 has no reason; add reason = ..."),
        ('[[launch]]\nkernels = "a"\nwhen = 3', "launch, row 1: when must be a string"),
    ],
)
def test_what_the_file_cannot_say(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "candle-parity.toml"
    file.write_text(text)
    with pytest.raises(SourceError) as raised:
        read_config(file)
    assert said in str(raised.value)
