"""The command line as a user meets it: words in, exit code and text out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commands import Said, answer


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    """``cli("run", "uneg_f32")``: the command in this process; ``run`` and ``replay`` write a record too."""

    def call(*words: object) -> Said:
        path = tmp_path / "said.json"
        path.unlink(missing_ok=True)
        extra = ["--json", str(path)] if words[0] in ("run", "replay") and "--json" not in words else []
        said = answer(capfd, *words, *extra)
        return replace(said, record=json.loads(path.read_text()) if path.exists() else None)

    return call


@pytest.fixture
def port(tmp_path: Path):
    """``port(text)``: a folder of kernels with one file, unary.hip."""

    def make(text: str, name: str = "unary.hip") -> Path:
        folder = tmp_path / "port"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        return folder

    return make
