"""The command line as a user meets it: words in, exit code and text out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str
    record: dict[str, Any] | None

    def kernel(self, name: str) -> dict[str, Any]:
        assert self.record is not None
        return next(row for row in self.record["kernels"] if row["name"] == name)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    """``cli("run", "uneg_f32")``: the command in this process; ``run`` and ``replay`` write a record too."""

    def call(*words: object) -> Said:
        path = tmp_path / "said.json"
        path.unlink(missing_ok=True)
        extra = ["--json", str(path)] if words[0] in ("run", "replay") and "--json" not in words else []
        capfd.readouterr()
        try:
            code = main([*map(str, words), *extra])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Said(code, out, err, json.loads(path.read_text()) if path.exists() else None)

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
