"""The shipped specs: the 748 kernels, their tolerances, and finding them by pattern."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from conformance.spec import SelectionError
from conformance.spec.load import SPEC_FOLDER, Specs, load_specs
from conformance.spec.schema import schema_text

ROOT = Path(__file__).resolve().parents[2]

COUNTS = {
    "affine": 10,
    "binary": 96,
    "cast": 58,
    "conv": 66,
    "fill": 24,
    "indexing": 125,
    "quantized": 142,
    "reduce": 64,
    "sort": 14,
    "ternary": 26,
    "unary": 123,
}
DIGEST = "2067ba91bc6204fc4a2a08b579d5a16a9076fa50b2935479d5f319196812a1a1"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def fingerprint(specs: Specs) -> str:
    """SHA-256 of every kernel's name, parameters and upstream line, sorted by name."""
    rows = (
        f"{name} {kernel.upstream} " + " ".join(f"{p.name}:{p.dtype}:{int(p.pointer)}:{p.role}" for p in kernel.params)
        for name, kernel in sorted(specs.kernels.items())
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def test_counts_per_module(specs: Specs) -> None:
    assert dict(Counter(kernel.module for kernel in specs.kernels.values())) == COUNTS
    assert sum(COUNTS.values()) == 748


def test_names_parameters_and_lines_have_not_drifted(specs: Specs) -> None:
    # The digest was taken when the specs equalled a table made from upstream's sources; `drift` compares with these.
    assert fingerprint(specs) == DIGEST


def test_schema_is_current() -> None:
    text = (SPEC_FOLDER / "schema.json").read_text(encoding="utf-8")
    assert text == schema_text(), "run `python -m conformance.spec.schema`"


@pytest.mark.parametrize("path", sorted(SPEC_FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_spec_names_its_schema_first(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=schema.json\n")


def test_every_kernel_has_a_sourced_tolerance(specs: Specs) -> None:
    assert all(kernel.tolerance.source for kernel in specs.kernels.values())
    exact = specs.kernels["uneg_f32"].tolerance
    assert (exact.ulp, exact.library_ulp) == (0, 0)
    assert specs.kernels["uexp_f32"].tolerance.library_ulp == 2
    assert specs.kernels["bdiv_f16"].tolerance.ulp == 1
    assert specs.kernels["bdiv_f32"].tolerance.ulp == 0


def test_defects_and_undefined_inputs_reach_the_kernels_they_are_about(specs: Specs) -> None:
    assert [item.input for item in specs.kernels["bdiv_i64"].undefined] == ["division by zero", "INT64_MIN / -1"]
    assert [item.input for item in specs.kernels["bdiv_u8"].undefined] == ["division by zero"]
    assert specs.kernels["badd_i64"].undefined == ()
    assert specs.kernels["indexed_moe_forward_q8_0_q8_1"].upstream_defects
    assert not specs.kernels["indexed_moe_forward_q2k_q8_1"].upstream_defects


def test_select_without_patterns_is_everything_in_order(specs: Specs) -> None:
    assert [kernel.name for kernel in specs.select()] == list(specs.kernels)


def test_select_unites_patterns_and_keeps_each_kernel_once(specs: Specs) -> None:
    names = [kernel.name for kernel in specs.select(["uexp_*", "u*_f64", "uexp_f64"])]
    assert len(names) == len(set(names))
    assert {"uexp_bf16", "uexp_f64", "usin_f64", "uelu_f64"} <= set(names)
    assert names == [name for name in specs.kernels if name in set(names)]


def test_select_within_a_module(specs: Specs) -> None:
    names = {kernel.name for kernel in specs.select(["*_f8_e4m3"], module="fill")}
    assert names == {"fill_f8_e4m3", "copy2d_f8_e4m3", "const_set_f8_e4m3"}


@pytest.mark.parametrize(
    ("patterns", "module", "parts"),
    [
        (["uexpp_f32"], None, ["'uexpp_f32'", "uexp_f32"]),
        (["uexp_f32", "zzz*"], None, ["'zzz*'", "candle-parity list"]),
        (["uexp_f32"], "cast", ["'uexp_f32'", "module cast"]),
        ([], "unarry", ["'unarry'", "unary"]),
    ],
)
def test_select_names_what_matches_nothing(
    specs: Specs, patterns: list[str], module: str | None, parts: list[str]
) -> None:
    with pytest.raises(SelectionError) as caught:
        specs.select(patterns, module)
    for part in parts:
        assert part in str(caught.value)
