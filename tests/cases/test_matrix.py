"""What the cases of the ten families hold: read from their ids alone, for every kernel."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest
from listed import FAMILIES, cases, kernel, of

from conformance.cases import Case, cases_for, has_cases, launch_for
from conformance.cases.case import MOST_CHARACTERS
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs

EDGE_SIZES = (31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025)

STRIDED = ("unary", "unary1", "affine", "cast", "const_set")
PAIRED = ("binary", "compare")
SHAPED = (*STRIDED, *PAIRED, "where")  # families with layouts


def _texts(kernel: Kernel) -> list[str]:
    return [case.id.partition("(")[2][:-1] for case in cases_for(kernel)]


def _any(texts: list[str], pattern: str) -> bool:
    return any(re.search(pattern, text) for text in texts)


def _element(kernel: Kernel) -> str:
    names = [p.name for p in kernel.params]
    name = next(n for n in ("inp", "lhs", "t", "src", "buf") if n in names)
    return kernel.param(name).dtype


# What every kernel of the families has a case of. Ids in brackets: the classes of the list of port bugs it catches.
REQUIRED: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (SHAPED, "rank 0", r"^shape=\[\](,|$)"),
    (SHAPED, "rank 1", r"^shape=\[\d+\],"),
    (SHAPED, "rank 2", r"^shape=\[\d+,\d+\],.*transposed"),
    (SHAPED, "rank 3", r"^shape=\[\d+,\d+,\d+\],.*transposed"),
    (SHAPED, "rank 4", r"^shape=\[\d+,\d+,\d+,\d+\],.*=narrowed"),
    (SHAPED, "rank 5", r"^shape=\[(\d+,){4}\d+\],.*=(permuted|reversed)"),
    (SHAPED, "rank 9 [S13]", r"^shape=\[(\d+,){8}\d+\],.*=(reversed|stepped_by_2)"),
    (SHAPED, "transpose(1, 2) of rank 4 [S15]", r"^shape=\[2,3,4,5\],.*=middle_swapped"),
    (SHAPED, "a channel's bias [S15]", r"^shape=\[2,3,4,5\],.*=broadcast_all_but_1"),
    (SHAPED, "permuted [S01]", r"=permuted"),
    (SHAPED, "narrowed [L08, L09]", r"=narrowed(,|$)"),
    (SHAPED, "only an outer stride off [S04]", r"=narrowed_middle"),
    (SHAPED, "only the middle stride off [S04]", r"=broadcast_middle"),
    (SHAPED, "only the last stride off [S04]", r"=broadcast_last"),
    (SHAPED, "stride 0 [S03]", r"=broadcast|=scalar"),
    (SHAPED, "one element everywhere [S03]", r"=scalar"),
    (SHAPED, "rank-1 strides [S04]", r"^shape=\[\d+\],.*stepped"),
    (SHAPED, "size-1 dimensions", r"^shape=\[3,1,5,1,4\].*ones"),
    (SHAPED, "empty with strides [L11]", r"^shape=\[3,0,5\]"),
    (SHAPED, "more elements than threads, strided [L10]", r"^shape=\[\d+,\d+,\d+\],.*grid="),
    (SHAPED, "an odd start and a small grid [L21]", r"^shape=\[2500\],.*start=1,grid=1"),
    (tuple(f for f in FAMILIES if f != "copy2d"), "several steps of packs [L21]", r"^shape=\[2500\],.*block=64,grid=1"),
    (("copy2d",), "more than 65,536 elements [S12]", r"^shape=\[300,300\]"),
    ((*STRIDED, *PAIRED), "null info [S06]", r"^shape=\[1025\],(?!.*info=)"),
    ((*STRIDED, *PAIRED), "info though contiguous [S06]", r"^shape=\[3,5,7\],(values|value)=\w+,info=given"),
    ((*STRIDED, *PAIRED), "rank 0 with info [S06]", r"^shape=\[\],.*info=given"),
    (("unary", "unary1", "affine"), "null input [S07]", r"inp=null"),
    (("unary", "unary1", "affine"), "null input, strides given [S07]", r"layout=transposed.*inp=null"),
    (STRIDED, "odd start [L08, L09]", r"^shape=\[261\],.*start=1"),
    (PAIRED, "left strided only [S02]", r",lhs=(?!.*rhs=)"),
    (PAIRED, "right strided only [S02]", r",rhs=(?!.*lhs=)"),
    (PAIRED, "both strided, differently [S02]", r"lhs=transposed,rhs=permuted"),
    (PAIRED, "left starts odd [L09]", r"lhs_start=1"),
    (PAIRED, "right starts odd [L09]", r"rhs_start=3"),
    (PAIRED, "offsets of a strided and a contiguous side [L09]", r"lhs=transposed.*lhs_start=5,rhs_start=3"),
    (PAIRED, "all pairs of a table [N01, N18, R03]", r"values=(core|exhaustive)$"),
    (
        PAIRED,
        "all pairs through strides",
        r"lhs=broadcast,rhs=broadcast_first,values=(core|exhaustive)|^shape=\[65536\]",
    ),
    (("where",), "ids strided only [S02]", r",ids=transposed,values"),
    (("where",), "t strided only [S02]", r",t=transposed,values"),
    (("where",), "f strided only [S02]", r",f=transposed,values"),
    (("where",), "all strided, differently [S02]", r"ids=transposed,t=permuted,f=outer_swapped"),
    (("where",), "ids start odd [L09]", r"ids_start=1"),
    (("where",), "t starts odd [L09]", r"t_start=3"),
    (("where",), "f starts odd [L09]", r"f_start=1"),
    (("where",), "ids whose low bytes are zero [I03]", r"mask=high"),
    (("unary", "unary1", "affine", "cast", "where"), "special values", r"values=special"),
    (("unary1",), "a parameter other than 1 [N19, L05]", r"values=special,param=-0.5|values=special,param=0.5"),
    (("affine",), "mul and add unlike [L02]", r"mul=pattern,add="),
    (("fill", "const_set"), "a value of unlike bytes [L02, L06]", r"value=pattern"),
    (("fill", "const_set"), "limits", r"value=max"),
    (("const_set",), "gaps stay [S08]", r"layout=stepped"),
    (("const_set",), "narrowed and transposed [S08]", r"layout=narrowed_transposed"),
    (("copy2d",), "source gaps [S11]", r"src_s=23,values"),
    (("copy2d",), "destination gaps [S11]", r"^shape=\[17,19\],dst_s=29,values"),
    (("copy2d",), "both [L02]", r"src_s=23,dst_s=29"),
    (("copy2d",), "no rows [L11]", r"^shape=\[0,5\]"),
    (("copy2d",), "no columns [L11]", r"^shape=\[5,0\]"),
    (("copy2d",), "one row", r"^shape=\[1,\d+\]"),
    (("copy2d",), "one column", r"^shape=\[37,1\]"),
    (("copy2d",), "source starts odd [L08]", r"src_start=1"),
    (("copy2d",), "destination starts odd [L08]", r"dst_start=3"),
    (("copy2d",), "blocks with nothing to do [S10]", r"grid=3"),
    (FAMILIES, "no elements [L11]", r"^shape=(\[0\]|\[0,5\])"),
    (FAMILIES, "one element", r"^shape=(\[1\]|\[1,1\])"),
    (tuple(f for f in FAMILIES if f != "copy2d"), "more elements than threads [L10]", r"^shape=\[2500\],.*grid=1"),
    (FAMILIES, "another block size", r"block=96"),
)


@pytest.mark.slow("builds the ids of the whole matrix")
@pytest.mark.parametrize(("families", "what", "pattern"), REQUIRED, ids=[row[1] for row in REQUIRED])
def test_every_kernel_has_a_case_of(families: tuple[str, ...], what: str, pattern: str) -> None:
    lacking = [kernel.name for kernel in of(*families) if not _any(_texts(kernel), pattern)]
    assert of(*families)
    assert lacking == [], what


# What one kernel of each type has, as the mistake lies in code that the operations of a family share.
SHARED: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (SHAPED, "rank 6 [S13]", r"^shape=\[(\d+,){5}\d+\],.*=reversed"),
    (SHAPED, "rank 7 [S13]", r"^shape=\[(\d+,){6}\d+\],.*=permuted"),
    (SHAPED, "rank 8 [S13]", r"^shape=\[(\d+,){7}\d+\],.*=reversed"),
    (SHAPED, "a size of 2 with a stride of its own, outermost [S04]", r"^shape=\[2,6,8\],.*=narrowed_middle"),
    (SHAPED, "a size of 2 with a stride of its own, innermost [S04]", r"^shape=\[5,4,2\],"),
    (STRIDED[:4] + PAIRED + ("where",), "transpose(1, 2) of rank 5 [S15]", r"^shape=\[2,3,2,4,3\],.*=middle_swapped"),
    (STRIDED[:4] + PAIRED + ("where",), "channels last [S15]", r"=order_0231"),
    (STRIDED[:4] + PAIRED + ("where",), "channels first again [S15]", r"=order_0312"),
    *(
        (
            STRIDED[:4] + PAIRED + ("where",),
            f"a stride of 0, {place} of four [S15]",
            rf"\[2,3,4,5\],.*=broadcast_{place}",
        )
        for place in ("first", "second", "middle", "last")
    ),
    *(
        (SHAPED, f"a slice, {place} of four [L08, L09]", rf"\[2,3,4,5\],.*=narrowed{place}(,|$)")
        for place in ("_first", "_second", "_middle", "")
    ),
    (SHAPED, "a step of 2 [S04]", r"=stepped_by_2"),
    (SHAPED, "a pitch of whole packs, a length that is not [S14]", r"^shape=\[6,13\],layout=narrowed,.*start=16"),
    (SHAPED, "a length of whole packs, a pitch that is not [S14]", r"^shape=\[6,16\],layout=narrowed,.*start=16"),
    (SHAPED[:4] + SHAPED[5:], "rows of whole packs in another order [S14]", r"^shape=\[3,4,16\],.*=outer_swapped"),
    (SHAPED, "several tiles a block [L21]", r"^shape=\[70,130\],.*=transposed,.*grid=2"),
    (PAIRED, "left strided, small grid [L10]", r"lhs=transposed,values=\w+,grid=2"),
    (PAIRED, "right strided, small grid [L10]", r"rhs=transposed,values=\w+,grid=2"),
    *((("where",), f"{name} strided, small grid [L10]", rf",{name}=transposed,.*grid=2") for name in ("ids", "t", "f")),
)


@pytest.mark.slow("builds the ids of the whole matrix")
@pytest.mark.parametrize(("families", "what", "pattern"), SHARED, ids=[row[1] for row in SHARED])
def test_every_type_has_a_case_of(families: tuple[str, ...], what: str, pattern: str) -> None:
    for family in families:
        found = {_element(k) for k in of(family) if _any(_texts(k), pattern)}
        assert found == {_element(k) for k in of(family)}, (family, what)


@pytest.mark.parametrize("family", SHAPED)
def test_types_of_one_and_four_bytes_have_more_than_65536_strided_elements(family: str) -> None:
    """[S12] Of one operation at least."""
    large = {
        _element(k) for k in of(family) if _any(_texts(k), r"^shape=\[257,257\],.*=(transposed|narrowed),(?!.*grid=)")
    }
    assert large == {_element(k) for k in of(family)} & {"f32", "u8"}
    for shape in (r"\[2,66000\]", r"\[66000,2\]"):
        wide = {_element(k) for k in of(family) if _any(_texts(k), rf"^shape={shape},.*=(transposed|narrowed),")}
        assert wide >= large, shape


@pytest.mark.parametrize("size", EDGE_SIZES)
@pytest.mark.slow("parses the cases of every kernel")
def test_every_kernel_has_sizes_round_block_and_wave(size: int) -> None:
    lacking = [kernel.name for kernel in of() if not _any(_texts(kernel), rf"^shape=(\[{size}\]|\[1,{size}\]),")]
    assert lacking == []


def test_float_kernels_have_subnormals_and_every_scale() -> None:
    floats = [kernel for kernel in of(*STRIDED[:4], *PAIRED) if dtype(_element(kernel)).kind == "float"]
    assert len(floats) > 200
    for k in floats:
        texts = _texts(k)
        for distribution in ("subnormal", "tiny", "large", "mid", "wide"):
            assert _any(texts, f"values={distribution}"), (k.name, distribution)


def test_narrow_types_are_tried_exhaustively() -> None:
    narrow = [kernel for kernel in of(*STRIDED[:4], *PAIRED, "where", "copy2d") if dtype(_element(kernel)).size <= 2]
    assert len(narrow) > 100
    for k in narrow:
        patterns = 65536 if dtype(_element(k)).size == 2 or k.launch in PAIRED else 256
        found = [case for case in cases_for(k) if case.get("values", "") == "exhaustive"]
        sizes = [_product(case.integers("shape")) for case in found]
        assert sizes, k.name
        assert set(sizes) == {patterns}, k.name


def _product(sizes: tuple[int, ...]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def test_powers_and_alphas() -> None:
    assert {case.get("param", "") for case in cases_for(kernel("upowf_f32"))} >= {
        "0",
        "0.5",
        "2",
        "3",
        "-1",
        "nan",
        "inf",
    }
    assert {case.get("param", "") for case in cases_for(kernel("uelu_bf16"))} >= {"0", "1", "-0.5", "nan"}


def test_only_the_strided_copy_writes_behind_an_offset() -> None:
    writing = {k.variant["op"] for k, case in cases("unary") if case.get("out_start", "") != ""}
    assert writing == {"copy"}


def test_ids_are_unique_and_parse_back() -> None:
    ids = [case.id for _, case in cases()]
    assert len(set(ids)) == len(ids)
    for k, case in cases():
        assert Case.parse(case.id) == case
        assert case.kernel == k.name


def test_no_generated_id_comes_near_the_longest_that_is_read() -> None:
    ids = [case.id for one in load_specs().kernels.values() for case in cases_for(one)]
    assert max(map(len, ids)) < MOST_CHARACTERS // 4


def test_the_matrix_has_the_size_agreed() -> None:
    per_kernel = Counter(k.name for k, _ in cases())
    assert len(per_kernel) == 337
    assert min(per_kernel.values()) >= 20
    assert max(per_kernel.values()) <= 115
    assert 10_000 <= per_kernel.total() <= 24_000


def test_a_family_without_a_generator_says_so() -> None:
    other = dataclasses.replace(kernel("uexp_f32"), launch="novel")
    assert not has_cases(other)
    assert all(has_cases(k) for k in of())
    with pytest.raises(ValueError, match=r"kernel uexp_f32: no cases for launch family 'novel'; known: unary, "):
        cases_for(other)
    with pytest.raises(ValueError, match="no cases for launch family"):
        launch_for(other, Case(other.name, ()))
