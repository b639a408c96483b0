"""docs/specs.md: its example is a spec, with every key of a stanza."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conformance.files import ROOT
from conformance.spec.load import SPEC_FOLDER, Specs, load_specs

PAGE = (ROOT / "docs" / "specs.md").read_text(encoding="utf-8")


@pytest.fixture
def specs(tmp_path: Path) -> Specs:
    """The example, loaded."""
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "example.yaml").write_text(example)
    return load_specs(tmp_path)


def test_the_example_comes_to_what_the_page_says(specs: Specs) -> None:
    assert [name for name in specs.kernels if name.startswith("halve")] == ["halve_f32", "halve_f16", "halve_f8_e4m3"]
    assert "power_curve_f64" in specs.kernels
    assert "power_curve_f16" not in specs.kernels
    assert [param.name for param in specs.kernels["sine_curve_f32"].params] == [
        "numel",
        "num_dims",
        "info",
        "inp",
        "out",
    ]
    picked = next(param for param in specs.kernels["pick_f32"].params if param.name == "ids")
    assert picked.dtype == "u32"
    assert specs.kernels["sine_curve_f64"].tolerance.ulp == 2


def test_the_example_has_every_key_of_a_stanza(specs: Specs) -> None:
    example = PAGE.partition("```yaml\n")[2].partition("```")[0]
    schema = json.loads((SPEC_FOLDER / "schema.json").read_text())
    assert [key for key in schema["$defs"]["Family"]["properties"] if f"{key}:" not in example] == []
