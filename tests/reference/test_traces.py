"""The reference on trial: every recorded CUDA case of the modules that have a reference."""

from __future__ import annotations

import pytest
import traces

MODULES = ("affine", "unary")


@pytest.mark.parametrize("module", MODULES)
def test_recorded_answers(module: str) -> None:
    traces.require()
    assert list(traces.judge(module)) == []
