"""What is only moved may be declared with any type of the same width; everything else has Candle's type."""

from __future__ import annotations

import pytest

from conformance.port.declared.names import names_of
from conformance.port.definitions.scan import Param
from conformance.port.signature import Given, compiled, differences, have_one_form, written
from conformance.spec.load import Specs, load_specs

COPY2D = ("src", "dst", "d1", "d2", "src_s", "dst_s")


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def kinds(specs: Specs, name: str, types: dict[str, str]) -> list[str]:
    """The differences of a kernel with Candle's parameters but for ``types``, as a source and as a compiler has them:
    both find the same."""
    sizes = {"void*": 8, "size_t": 8, "f64": 8, "i64": 8, "f32": 4, "u32": 4, "f16": 2, "bf16": 2, "u8": 1}
    spelled = {"f64": "double", "f32": "float", "i64": "int64_t", "u32": "uint32_t", "f16": "__half", "u8": "uint8_t"}
    rows: list[Given] = []
    params: list[Param] = []
    for one in specs.kernels[name].params:
        usual = spelled.get(one.dtype, one.dtype) + (" *" if one.pointer else "")
        given = types.get(one.name, usual)
        params.append(Param(given, one.name))
        rows.append(compiled(given.replace("int64_t", "long"), 8 if "*" in given else sizes[one.dtype]))
    by_source = [one.kind for one in differences(specs.kernels[name], written(params))]
    assert [one.kind for one in differences(specs.kernels[name], rows)] == by_source
    return by_source


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("copy2d_f32", {"src": "const unsigned int *", "dst": "int *"}),
        ("copy2d_f64", {"src": "const void *", "dst": "unsigned long *"}),
        ("ucopy_f16", {"inp": "const short *", "out": "unsigned short *"}),
        ("ucopy_u8", {"inp": "const char *", "out": "__hip_fp8_e5m2 *"}),
        ("where_u32_f64", {"t": "const long *", "f": "const double *", "out": "unsigned long long *"}),
        ("gather_u8_f32", {"inp": "const unsigned int *", "out": "unsigned int *"}),
        ("s_i64_u32", {"inp": "const float *", "out": "float *"}),
        ("is_u32_bf16", {"inp": "const __half *", "out": "void *"}),
        ("get_rows_f16", {"src0": "const void *", "dst": "unsigned int *"}),
        ("fill_f32", {"buf": "unsigned int *", "value": "unsigned int"}),
        ("const_set_u8", {"inp": "signed char", "out": "signed char *"}),
    ],
)
def test_what_is_moved_has_any_type_of_its_width(specs: Specs, name: str, types: dict[str, str]) -> None:
    assert kinds(specs, name, types) == []


@pytest.mark.parametrize(
    ("name", "types", "kind"),
    [
        ("copy2d_f32", {"src": "const double *"}, "pointee_type"),  # another width
        ("copy2d_f32", {"src": "const unsigned char *"}, "pointee_type"),
        ("copy2d_u8", {"src": "const __hip_fp8x2_e4m3 *"}, "pointee_type"),
        ("copy2d_f32", {"src": "float **"}, "parameter_type"),
        ("fill_f32", {"value": "double"}, "parameter_type"),
        ("where_u32_f64", {"ids": "const float *"}, "pointee_type"),  # the condition is looked at
        ("gather_u32_f32", {"ids": "const float *"}, "pointee_type"),
        ("sa_u32_f32", {"inp": "const unsigned int *"}, "pointee_type"),  # these add
        ("ia_u32_f32", {"out": "unsigned int *"}, "pointee_type"),
        ("uneg_f32", {"out": "unsigned int *"}, "pointee_type"),
        ("get_rows_q4_0", {"dst": "unsigned int *"}, "pointee_type"),
    ],
)
def test_everything_else_has_candles_type(specs: Specs, name: str, types: dict[str, str], kind: str) -> None:
    given = [Param(types.get(one.name, ""), one.name) for one in specs.kernels[name].params]
    found = differences(specs.kernels[name], written(given))
    assert kind in {one.kind for one in found if any(text in one.message for text in types.values())}


def test_two_of_candles_kernels_are_one_of_the_ports_where_one_can_be_both(specs: Specs) -> None:
    rows = [("copy2d_f32", "copy2d_b4"), ("copy2d_u32", "copy2d_b4")]
    pair = ("copy2d_f32", "copy2d_u32", "copy2d_f64", "uneg_f32")

    def alike(one: str, other: str) -> bool:
        return have_one_form(specs.kernels[one], specs.kernels[other])

    names = names_of(rows, pair, "F", alike=alike)
    assert [names.port(name) for name in pair] == ["copy2d_b4", "copy2d_b4", "copy2d_f64", "uneg_f32"]
    assert names.candles("copy2d_b4") == ["copy2d_f32", "copy2d_u32"]
    assert not alike("copy2d_f32", "copy2d_f64")  # another width
    assert not alike("copy2d_f32", "uneg_f32")
    assert not alike("uneg_f32", "uexp_f32")  # these compute, and each something else
    assert not alike("is_u32_f32", "is_i64_f32")  # the ids are no bits
    assert alike("is_u32_f32", "is_u32_u32")


def test_a_kernel_under_candles_name_serves_another_of_the_same_width(specs: Specs) -> None:
    names = names_of([("copy2d_u32", "copy2d_f32")], ("copy2d_f32", "copy2d_u32"), "F", alike=lambda one, other: True)
    assert names.candles("copy2d_f32") == ["copy2d_f32", "copy2d_u32"]
    assert names.candles("copy2d_u32") == []
