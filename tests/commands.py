"""A command in this process: what it answers, and what a refusal looks like."""

from __future__ import annotations

import re
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


def without_progress(text: str) -> str:
    """``text`` of standard error without the lines that a slow machine gets to see."""
    return "".join(line for line in text.splitlines(True) if re.search(r": \d+ of \d+ after ", line) is None)


def refused(said: Said, *words: object) -> None:
    """``said`` is exit code 2 and one sentence with ``words``, after lines of progress where the machine is slow.

    Standard output has what was to be judged at most."""
    assert said.code == 2
    assert re.sub(r"\Acandle-parity (judges|compiles|times) .*\n", "", said.out) == ""
    lines = without_progress(said.err).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("candle-parity: ")
    for word in words:
        assert str(word) in lines[0]
