"""Kernels that add up in another order than ours are right, and those that leave something out or round more are not.

Each row compiles a file of ``kernels/`` with other definitions. The right ones pass every case with
the data of ten salts where ``CANDLE_PARITY_SALTS=10`` is set, of one without.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main

FOLDER = Path(__file__).parent / "kernels"
HEADERS = Path(__file__).parents[2] / "kernels" / "include"
FILES = tuple(file.stem for file in FOLDER.glob("*.hip"))
SALTS = int(os.environ.get("CANDLE_PARITY_SALTS", "1"))

GELUS = "ugelu_f16 ugelu_bf16 ugelu_f32 ugelu_f64"
HALVES = "usilu_*f16 usigmoid_*f16 ugelu_*f16 uelu_*f16"


@dataclass(frozen=True)
class Rewrite:
    """A file of ``kernels/`` with ``defined``, launched with waves of ``wave``; ``only`` are the kernels meant."""

    what: str
    file: str
    defined: str
    wave: int = 64
    only: str = ""


RIGHT = (
    Rewrite("waves of 64 lanes, 16 partial sums", "norms", "ORDER=wave64"),
    Rewrite("a tree in shared memory", "norms", "ORDER=tree", 32),
    Rewrite("a stretch of the row for each thread", "norms", "ORDER=chunks"),
    Rewrite("one thread a row", "norms", "ORDER=forward", 32),
    Rewrite("one thread a row, from the end", "norms", "ORDER=backward"),
    Rewrite("pairwise", "norms", "ORDER=pairwise"),
    Rewrite("Kahan's compensated sum", "norms", "ORDER=kahan"),
    Rewrite("four accumulators, as vector loads give", "norms", "ORDER=lanes", 32),
    Rewrite("a variance in two passes", "norms", "ORDER=tree FORM=two_passes", only="layernorm*"),
    Rewrite("a variance in two passes of one thread", "norms", "ORDER=forward FORM=two_passes", only="layernorm*"),
    Rewrite("Welford's algorithm, merged by Chan's formula", "norms", "FORM=welford", 32, "layernorm*"),
    Rewrite("x * factor + offset, and products with 1 / n", "norms", "ORDER=wave64 FORM=factors"),
    Rewrite("float32 throughout, and a quotient", "softmax", "ORDER=tree"),
    Rewrite("a softmax in one thread", "softmax", "ORDER=backward", 32),
    Rewrite("an online softmax in every lane", "softmax", "ONLINE=1"),
    Rewrite("an online softmax in one thread", "softmax", "ONLINE=2", 32),
    Rewrite("waves of 64 lanes, in float32", "reduce", "ORDER=wave64", only="fast_sum*"),
    Rewrite("a stretch for each thread, in the type", "reduce", "ORDER=chunks IN_TYPE=true", 32, "fast_sum*"),
    Rewrite("one thread, in the type", "reduce", "ORDER=forward IN_TYPE=true"),
    Rewrite("from the end, in the type", "reduce", "ORDER=backward IN_TYPE=true", 32),
    Rewrite("pairwise, in float32", "reduce", "ORDER=pairwise"),
    Rewrite("additions by index as atomic operations", "indexing", "ATOMIC", 32),
    Rewrite("additions by index from the last, in the type", "indexing", "ORDER=backward IN_TYPE=true"),
    Rewrite("additions by index in float32", "indexing", "ORDER=lanes", 32),
    Rewrite("channels outermost, products rounded", "conv", "ORDER=forward"),
    Rewrite("convolutions from the last weight", "conv", "ORDER=backward IN_TYPE=true", 32),
    Rewrite("convolutions with split channels", "conv", "ORDER=pairwise"),
    Rewrite("one thread a row of weights", "quantized", "ORDER=forward", 32),
    Rewrite("one thread a row of weights, from the end", "quantized", "ORDER=backward"),
    Rewrite("rows of weights split in four", "quantized", "ORDER=lanes"),
)

MORE_ACCURATE = (
    Rewrite("activations in float64, rounded once", "activations", "COMPUTE=f64"),
    Rewrite("activations in float32 at least, rounded once", "activations", "COMPUTE=f32", 32),
    Rewrite("activations of 16 bits without powers above 1", "activations", "COMPUTE=f32 FORM=stable", only=HALVES),
    Rewrite("sigmoid without powers above 1", "activations", "COMPUTE=f32 FORM=stable", 32, "usigmoid*"),
    Rewrite("activations of 16 bits as products", "activations", "COMPUTE=f32 FORM=product", only=HALVES),
    Rewrite("a softmax in float64, rounded once", "softmax", "ORDER=tree KEPT=f64", 32),
    Rewrite("gelu as a quotient below -4", "activations", "COMPUTE=f32 FORM=by_tail", only=GELUS),
    Rewrite("gelu as a quotient", "activations", "COMPUTE=f32 FORM=by_sigmoid", 32, GELUS),
    Rewrite("the cube inside gelu as a product", "activations", "COMPUTE=f32 FORM=product", only="ugelu_f32 ugelu_f64"),
    Rewrite("elu by expm1", "activations", "COMPUTE=f32 FORM=by_expm1", only="uelu_*"),
)

WRONG = (
    Rewrite("eps left out", "norms", "WRONG=no_eps"),
    Rewrite("n - 1 in place of n", "norms", "WRONG=n_minus_1"),
    Rewrite("sums in the type of the buffer", "norms", "ORDER=tree WRONG=in_storage", only="*norm_*f16"),
    Rewrite("the mean not subtracted", "norms", "WRONG=no_mean", only="layernorm*"),
    Rewrite("no barrier between the steps", "norms", "ORDER=tree WRONG=no_barrier"),
    Rewrite("the end of the row left out", "norms", "ORDER=tree WRONG=lost_tail"),
    Rewrite("one partial sum left out", "norms", "ORDER=wave64 WRONG=lost_partial"),
    Rewrite("a scale that is 0.03 % too large", "norms", "WRONG=scaled", only="*norm_f32 *norm_f64"),
    Rewrite("a sum in the type of the buffer", "softmax", "WRONG=in_storage", only="softmax_*f16"),
    Rewrite("the maximum not subtracted", "softmax", "WRONG=no_maximum"),
    Rewrite("the end of the row left out", "softmax", "WRONG=lost_tail"),
    Rewrite("one partial sum left out", "softmax", "ORDER=tree WRONG=lost_partial"),
    Rewrite("no barrier between the steps", "softmax", "ORDER=tree WRONG=no_barrier"),
    Rewrite("a scale that is 0.03 % too small", "softmax", "WRONG=scaled", only="softmax_f32 softmax_f64"),
    Rewrite("the end of the row left out", "reduce", "ORDER=tree WRONG=lost_tail"),
    Rewrite("one partial sum left out", "reduce", "ORDER=tree WRONG=lost_partial", only="fast_sum*"),
    Rewrite("no barrier between the steps", "reduce", "ORDER=tree WRONG=no_barrier", only="fast_sum*"),
    Rewrite("one partial sum left out", "reduce", "ORDER=wave64 WRONG=lost_partial", only="fast_sum*"),
    Rewrite("one of four accumulators left out", "reduce", "ORDER=lanes WRONG=lost_partial"),
    Rewrite("the last id left out", "indexing", "WRONG=lost_tail"),
    Rewrite("one of four accumulators left out", "indexing", "ORDER=lanes WRONG=lost_partial"),
    Rewrite("sums in the type of the buffer", "conv", "WRONG=in_storage", only="conv*f16 avg*f16"),
    Rewrite("the last weight left out", "conv", "WRONG=lost_tail"),
    Rewrite("one of four accumulators left out", "conv", "ORDER=lanes WRONG=lost_partial"),
    Rewrite("the mean of one less", "conv", "WRONG=n_minus_1", only="avg_pool2d*"),
    Rewrite("activations cut off", "activations", "MISTAKE=truncated", only=f"{HALVES} rope_i_f16 rope_i_bf16"),
    Rewrite("gelu by erf in place of tanh", "activations", "MISTAKE=other_gelu", only="ugelu_f16 ugelu_f32 ugelu_f64"),
    Rewrite("exp(x) as 1 + x for small x", "activations", "MISTAKE=linear", only="usilu* usigmoid_f32 usigmoid_f64"),
    Rewrite("sigmoid as 1 - sigmoid(-x)", "activations", "MISTAKE=naive", only="usigmoid_f32 usigmoid_f64"),
    Rewrite("a sum in the type of the buffer, in float64", "softmax", "KEPT=f64 WRONG=in_storage", only="softmax_*f16"),
    Rewrite("silu as a product with sigmoid", "activations", "COMPUTE=f32 FORM=product", only="usilu_f32 usilu_f64"),
    Rewrite("gelu with a constant of ten digits", "activations", "MISTAKE=short_constant", only="ugelu_f64"),
    Rewrite("the same as a quotient", "activations", "FORM=by_sigmoid MISTAKE=short_constant", only="ugelu_f64"),
    Rewrite("gelu that ends at -4", "activations", "COMPUTE=f32 MISTAKE=no_tail", only="ugelu_f32 ugelu_f64"),
    Rewrite("elu by expm1, linear next to 0", "activations", "FORM=by_expm1 MISTAKE=linear", only="uelu_f32 uelu_f64"),
    Rewrite("the last weights left out", "quantized", "WRONG=lost_tail"),
    Rewrite("one of four accumulators left out", "quantized", "ORDER=lanes WRONG=lost_partial"),
    Rewrite("a result that is 0.3 % too large", "quantized", "WRONG=scaled", only="*mul_mat*"),
)


def judged(rewrite: Rewrite, folder: Path, salt: str, *more: str) -> dict[str, str]:
    """The status of each of the kernels, by name; ``more`` are further words of the command."""
    record = folder / "record.json"
    words = ["run", "--runtime", "cpu", "-j", "1", "--wave", str(rewrite.wave), "--seed-salt", salt]
    words += ["--kernels", str(FOLDER / f"{rewrite.file}.hip"), "-I", str(HEADERS), "--json", str(record)]
    for definition in rewrite.defined.split():
        words += ["-D", definition]
    main([*words, *more, *rewrite.only.split()])
    rows = json.loads(record.read_text())["kernels"]
    # What the file does not define is missing, or was not selected; what has no verdict for another reason says it.
    return {row["name"]: row["status"] for row in rows if row["status"] not in ("missing", "not_run") or row["message"]}


def unnoticed(found: dict[str, str]) -> dict[str, str]:
    return {name: status for name, status in found.items() if status not in ("fail", "crash")}


def name_of(rewrite: Rewrite) -> str:
    return f"{rewrite.file}, {rewrite.what}"


def test_every_file_has_right_and_wrong_rows_of_macros_that_it_reads() -> None:
    assert {row.file for row in (*RIGHT, *MORE_ACCURATE)} == {row.file for row in WRONG} == set(FILES)
    shared = (FOLDER / "any_order.h").read_text()
    for row in (*RIGHT, *MORE_ACCURATE, *WRONG):
        macros = [definition.partition("=")[0] for definition in row.defined.split()]
        text = shared + (FOLDER / f"{row.file}.hip").read_text()
        assert [macro for macro in macros if not re.search(rf"\b{macro}\b", text)] == [], name_of(row)


def in_tiers(rows: Sequence[Rewrite]) -> list[Any]:
    """The rows for ``parametrize``: two of one file in ``make test``, the others at night."""
    often = [row for row in rows if row.file == "softmax"][:2]
    slow = pytest.mark.slow("compiles a file of kernels and judges it")
    nightly = pytest.mark.nightly("compiles each way to sum, right and wrong, and judges it")
    return [pytest.param(row, marks=slow if row in often else nightly, id=name_of(row)) for row in rows]


@pytest.mark.parametrize("rewrite", in_tiers(RIGHT + MORE_ACCURATE))
def test_another_order_is_right(rewrite: Rewrite, tmp_path: Path) -> None:
    for salt in range(SALTS):
        found = judged(rewrite, tmp_path, str(salt or ""))
        assert found
        assert {name: status for name, status in found.items() if status != "pass"} == {}, f"--seed-salt {salt}"


@pytest.mark.parametrize("rewrite", in_tiers(WRONG))
def test_a_sum_that_is_not_one_is_noticed(rewrite: Rewrite, tmp_path: Path) -> None:
    """In one order of threads, which is enough for most, or in all of them."""
    found: dict[str, str] = {}
    for more in (("--order", "forward"), ()):
        found = judged(rewrite, tmp_path, "", *more)
        assert found
        if not unnoticed(found):
            return
    assert unnoticed(found) == {}
