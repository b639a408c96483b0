"""What docs/record.md shows of Python runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.files import ROOT
from tests.cli.small_port import small_port


@pytest.mark.slow("runs the Python of the documentation")
def test_the_documented_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_port(tmp_path)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "record.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    code = code.replace('"path/to/port"', '"port", "--runtime", "cpu", "--jobs", "1", "fill_u32"')
    exec(code, names)
    assert names["code"] == 0
    assert "# Parity with Candle's CUDA kernels" in str(names["page"])
