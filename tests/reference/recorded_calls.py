"""Recorded calls of Candle's linked launchers as reference arguments, whether or not a spec has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import reference
from conformance.files import traces_folder
from conformance.replay.archive import SUFFIX, read_archive
from reference.interval import inside

Array = NDArray[Any]

NAMES = (
    (r"launch_mmvq_gguf_quantize_q8_1_(?P<dtype>\w+)", "mmvq", "mmvq_quantize_q8_1"),
    (r"launch_mmvq_gguf_(?P<qtype>q\d_\w)_(?P<dtype>\w+)_plain", "mmvq", "mmvq"),
    (r"launch_mmq_quantize_q8_1_(?P<layout>\w+)", "mmq", "mmq_quantize_q8_1"),
    (r"launch_mmq_gguf_(?P<qtype>q\d_\w)", "mmq", "mmq"),
    (r"(?P<family>moe_gemm_\w+)", "moe", ""),
)


@dataclass(frozen=True)
class Call:
    """One recorded call: what ``reference.evaluate`` takes, and what CUDA left in every written buffer."""

    module: str
    family: str
    variant: dict[str, str]
    name: str
    label: str
    arguments: dict[str, Any]
    answer: dict[str, Array]

    @property
    def id(self) -> str:
        return f"{self.name}({self.label})"

    def expected(self, **changed: Any) -> dict[str, reference.Expected]:
        """What the reference expects, of these arguments or with some ``changed``."""
        return reference.evaluate(self.module, self.family, self.variant, 0, {**self.arguments, **changed})

    def values(self, **changed: Any) -> dict[str, Array]:
        """The values of ``expected``: what a kernel leaves that does as the reference does."""
        return {name: expected.value for name, expected in self.expected(**changed).items()}

    def wrong(self, got: dict[str, Array], others: bool = True) -> int:
        """How many elements of ``got`` the reference refuses; with ``others``, and does not call as good."""
        expected = self.expected()
        assert set(expected) == set(got)
        masks = reference.equivalent(self.module, self.variant, self.arguments, got) if others else {}
        refused = 0
        for name, content in got.items():
            assert (content.dtype, content.shape) == (expected[name].value.dtype, expected[name].value.shape)
            whole = content.dtype.kind in "iub"
            off = content != expected[name].value if whole else ~inside(content, expected[name])
            if name in masks:
                off &= ~masks[name]
            refused += int(off.sum())
        return refused


@cache
def calls(module: str) -> tuple[Call, ...]:
    """All recorded calls of ``module``."""
    return tuple(_calls(module))


def _calls(module: str) -> Iterator[Call]:
    cases, pool = read_archive(traces_folder() / f"{module}{SUFFIX}")
    for case in cases:
        arguments: dict[str, Any] = {}
        answer: dict[str, Array] = {}
        for row in case["args"]:
            if row["kind"] == "stream":
                continue
            arguments[row["name"]] = _argument(row, pool)
            if row["kind"] == "buf" and row["role"] != "in":
                answer[row["name"]] = pool[row["expect"]].view(_numpy(row["dtype"]))
        family, variant = _family(case["kernel"])
        yield Call(module, family, variant, case["kernel"], case["case"], arguments, answer)


def _argument(row: dict[str, Any], pool: dict[str, Array]) -> Any:
    if row["kind"] == "null":
        return None
    if row["kind"] == "scalar":
        return np.frombuffer(bytes.fromhex(row["value"]), row["dtype"])[0]
    if row["kind"] == "scratch":
        return np.full(row["bytes"], row["fill"], np.uint8)
    kind = _numpy(row["dtype"])
    if row["data"] is None:
        data = np.full(row["n"] * kind.itemsize, row["fill"], np.uint8).view(kind)
    else:
        data = pool[row["data"]].view(kind)
    data.flags.writeable = False
    return data


def _numpy(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _family(name: str) -> tuple[str, dict[str, str]]:
    for pattern, _, family in NAMES:
        found = re.fullmatch(pattern, name)
        if found:
            groups = found.groupdict()
            return groups.pop("family", family), groups
    raise AssertionError(f"{name} is none of Candle's launchers")
