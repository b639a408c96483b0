"""A command in this process: what it answers, and what a refusal looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from conformance.cli.main import main


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str
    record: dict[str, Any] | None = None

    def kernel(self, name: str) -> dict[str, Any]:
        assert self.record is not None
        return next(row for row in self.record["kernels"] if row["name"] == name)


def answer(capture: pytest.CaptureFixture[str], *words: object) -> Said:
    """What ``candle-parity`` with ``words`` answers; never a traceback."""
    capture.readouterr()
    try:
        code = main([*map(str, words)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capture.readouterr()
    assert "Traceback" not in err
    return Said(code, out, err)


def refused(said: Said, *words: object) -> None:
    """``said`` is exit code 2 and one sentence with ``words``."""
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("candle-parity: ")
    assert said.err.strip().count("\n") == 0
    for word in words:
        assert str(word) in said.err
