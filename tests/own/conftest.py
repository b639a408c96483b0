"""The port of the tests of this folder, as the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.own.ports import OwnPort


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnPort:
    monkeypatch.chdir(tmp_path)
    return OwnPort.written(tmp_path)
