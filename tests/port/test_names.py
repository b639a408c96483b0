"""``[names]``: which of a port's kernels is which of Candle's, and what cannot be told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.port.check.near_names import intended_names, suggested_aliases
from conformance.port.declared.names import names_of
from conformance.port.sources import SourceError

KERNELS = ("vec_q4_0_cuda1", "vec_q4_0_cuda2", "vec_q8_0_cuda1", "eq_f32", "eq_f8_e4m3", "sum_f32")


def test_a_pattern_maps_every_kernel_that_it_matches() -> None:
    names = names_of([("vec_*_cuda*", "vec_*_hip*"), ("*_f8_e4m3", "fp8_*"), ("sum_f32", "sum")], KERNELS, "F")
    assert [names.port(name) for name in KERNELS] == [
        *("vec_q4_0_hip1", "vec_q4_0_hip2", "vec_q8_0_hip1"),
        *("eq_f32", "fp8_eq", "sum"),
    ]
    assert names.candle("vec_q4_0_hip2") == "vec_q4_0_cuda2"
    assert names.candle("eq_f32") == "eq_f32"
    assert names.candle("helper") == "helper"
    # The port's kernel of this name is somebody else's.
    assert names.candle("vec_q4_0_cuda2") is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("*_cuda1", "*_hip*")], ("as many * on both sides",)),
        ([("*.f32", "*_f")], ("is not a pair of names",)),
        ([("*", "")], ("is not a pair of names",)),
        ([("*_cuda9", "*_hip9")], ("matches none of the 6 kernels",)),
        ([("*_0_*", "*_hip_*"), ("vec_*", "v_*")], ("vec_q4_0_cuda1 is ambiguous", "vec_q4_hip_cuda1", "v_q4_0_cuda1")),
        ([("*_*_*", "*_*__*")], ("is ambiguous", "vec_q4_0_cuda1 may be", "vec_q4_0__cuda1 or vec_q4__0_cuda1")),
        ([("sum_f32", "eq_f32")], ("eq_f32 is ambiguous", "both eq_f32 and sum_f32")),
        ([("vec_q*_0_cuda1", "vec_*1"), ("vec_q4_0_cuda2", "vec_41")], ("vec_41 is ambiguous",)),
    ],
)
def test_what_cannot_be_told_is_one_sentence(rows: Sequence[tuple[str, str]], words: Sequence[str]) -> None:
    with pytest.raises(SourceError) as raised:
        names_of(rows, KERNELS, "F")
    for word in ("F: names", *words):
        assert word in str(raised.value)


def test_swapped_names_are_no_conflict() -> None:
    names = names_of([("eq_f32", "sum_f32"), ("sum_f32", "eq_f32")], KERNELS, "F")
    assert (names.port("eq_f32"), names.candle("eq_f32")) == ("sum_f32", "sum_f32")


def test_an_alias_without_a_kernel_of_the_port_is_named() -> None:
    names = names_of([("*_cuda1", "*_hip1"), ("sum_f32", "total_f32")], KERNELS, "F")
    assert names.unmatched({"sum_f32", "vec_q4_0_cuda1"}) == [
        'names: "sum_f32" = "total_f32" matches no kernel of the port, such as total_f32; remove it'
    ]
    assert len(names.unmatched(KERNELS)) == 2


def test_a_hint_is_a_pattern_where_that_harms_no_other() -> None:
    pairs = [("vec_q4_0_cuda1", "vec_q4_0_hip1"), ("vec_q4_0_cuda2", "vec_q4_0_hip2"), ("eq_f8_e4m3", "eq_f8")]
    defined = ["vec_q4_0_hip1", "vec_q4_0_hip2", "eq_f8", "sum_f32"]
    assert suggested_aliases(pairs, defined, KERNELS) == [("*_cuda*", "*_hip*"), ("eq_f8_e4m3", "eq_f8")]
    # A kernel that the port has under Candle's name would lose it.
    assert suggested_aliases(pairs[:2], [*defined, "vec_q8_0_cuda1"], KERNELS) == pairs[:2]


def test_a_name_with_words_twice_is_near() -> None:
    assert intended_names(["f32_eq_f32", "eq_hip_f8_e4m3"], KERNELS) == {
        "f32_eq_f32": "eq_f32",
        "eq_hip_f8_e4m3": "eq_f8_e4m3",
    }
    assert intended_names(["f32_eq_u8"], KERNELS) == {}
