"""``run(tree, patterns, ...)``: a tree of kernels on trial, through the command line in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judging import TREES, Run, Verdicts

from conformance.cli.main import main


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    def call(tree: Path | str, *words: object) -> Verdicts:
        record = tmp_path / "record.json"
        kernels = TREES / tree if isinstance(tree, str) else tree
        capfd.readouterr()
        code = main(
            ["run", *map(str, words), "--runtime", "cpu", "-j", "1", "--kernels", str(kernels), "--json", str(record)]
        )
        err = capfd.readouterr().err
        read = json.loads(record.read_text())
        rows = {row["name"]: row for row in (*read["kernels"], *read.get("launchers", ()))}
        return Verdicts(code, err, read["run"]["wave"], rows)

    return call


@pytest.fixture
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder whose unary.hip is the text ``UNARY`` of the module of tests."""
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "unary.hip").write_text(request.module.UNARY)
    return folder
