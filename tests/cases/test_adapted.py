"""A struct by value lies in memory as C lays it out."""

from __future__ import annotations

from conformance.adapter import OwnParameter, OwnValue
from conformance.cases.adapted import ParameterLayout, layout_of
from conformance.spec.load import load_specs

KERNEL = load_specs().kernels["affine_f32"]


def test_fields_lie_at_multiples_of_their_elements() -> None:
    fields = (OwnValue("u8", value="1"), OwnValue("i64", value="2"), OwnValue("u8", array="info", count="1", room=3))
    assert layout_of(OwnParameter(struct=fields), KERNEL) == ParameterLayout(size=24, alignment=8, offsets=(0, 8, 16))


def test_a_number_is_a_struct_of_one() -> None:
    number = OwnParameter(value=OwnValue("u32", value="numel"))
    assert layout_of(number, KERNEL) == ParameterLayout(size=4, alignment=4, offsets=(0,))


def test_candles_arguments_have_their_own_size() -> None:
    fields = (OwnValue("u32", value="1"), OwnValue(candle="inp"), OwnValue(candle="mul"))
    assert layout_of(OwnParameter(struct=fields), KERNEL) == ParameterLayout(size=24, alignment=8, offsets=(0, 8, 16))
