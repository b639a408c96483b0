"""Kernel objects made from the recorded parameter lists, without the specs: what the tests of the cases need."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from conformance.spec.kernel import Kernel, Parameter, Tolerance

KERNELS_JSON = Path(__file__).resolve().parents[2].parent / "shared" / "candle" / "kernels.json"

FAMILIES = ("unary", "unary1", "affine", "binary", "compare", "cast", "where", "fill", "copy2d", "const_set")


def _kernel(name: str, row: dict[str, Any]) -> Kernel:
    params = tuple(Parameter(p["name"], p["dtype"], p["pointer"], p["kind"]) for p in row["params"])
    keys = ("op", "dtype", "src_dtype", "dst_dtype", "idx_dtype")
    variant: dict[str, str] = {key: row[key] for key in keys if key in row}
    tolerance = Tolerance(0, 0, "none: only arguments are looked at")
    return Kernel(name, row["module"], row["family"], variant, params, row["family"], tolerance, row["cuda_src"])


@lru_cache
def kernels() -> dict[str, Kernel]:
    """All recorded kernels by name; skips the test, loudly, where the recording is absent."""
    if not KERNELS_JSON.is_file():
        pytest.skip(f"SKIPPED: {KERNELS_JSON} is absent, so the cases were not tried on the real parameter lists")
    rows = json.loads(KERNELS_JSON.read_text())["kernels"]
    return {name: _kernel(name, row) for name, row in rows.items()}


def of(*families: str) -> list[Kernel]:
    """The kernels of ``families``, of all ten where none is named."""
    return [kernel for kernel in kernels().values() if kernel.launch in (families or FAMILIES)]
