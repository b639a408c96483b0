"""Cases as argument lists: geometry, buffers, addressing, identity of the bytes, and what is refused."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest
from listed import FAMILIES, cases, kernel, of

from conformance.cases import Case, launch_for
from conformance.cases.arguments import TAIL
from conformance.cases.launch import POISON_BYTE, Buffer, Launch, Null, Scalar
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel
from reference.strided import leading


def _built(text: str, salt: str = "") -> Launch:
    case = Case.parse(text)
    return launch_for(kernel(case.kernel), case, salt)


def _buffer(launch: Launch, name: str) -> Buffer:
    found = _argument(launch, name)
    assert isinstance(found, Buffer)
    return found


def _argument(launch: Launch, name: str) -> Buffer | Scalar | Null:
    return next(argument for argument in launch.args if argument.name == name)


def _number(launch: Launch, name: str) -> int:
    found = _argument(launch, name)
    assert isinstance(found, Scalar)
    return int(found.value)


def _bits(buffer: Buffer) -> bytes:
    return buffer.data.tobytes()


def _digest(launch: Launch) -> str:
    digest = hashlib.sha256(repr((launch.grid, launch.block)).encode())
    for argument in launch.args:
        if isinstance(argument, Buffer):
            digest.update(f"{argument.name}{argument.start}".encode() + _bits(argument))
        elif isinstance(argument, Scalar):
            digest.update(argument.name.encode() + argument.value.tobytes())
    return digest.hexdigest()


def _threads(launch: Launch) -> int:
    names = {argument.name for argument in launch.args}
    return _number(launch, "numel") if "numel" in names else _number(launch, "d1") * _number(launch, "d2")


def _check_arguments(k: Kernel, case: Case, launch: Launch) -> None:
    assert [argument.name for argument in launch.args] == [parameter.name for parameter in k.params], case.id
    for argument, parameter in zip(launch.args, k.params, strict=True):
        numpy = dtype(parameter.dtype).numpy
        if isinstance(argument, Buffer):
            assert parameter.pointer
            assert argument.dtype == parameter.dtype
            assert argument.data.dtype == numpy, (case.id, argument.name)
            assert argument.data.ndim == 1
            assert argument.data.flags.c_contiguous
            assert 0 <= argument.start < len(argument.data), (case.id, argument.name)
        elif isinstance(argument, Scalar):
            assert not parameter.pointer
            assert argument.value.dtype == numpy, (case.id, argument.name)
        else:
            assert parameter.name in ("info", "dims_and_strides", "inp"), case.id


def _check_geometry(k: Kernel, case: Case, launch: Launch) -> None:
    block = int(case.get("block", "1024"))
    needed = max(1, -(-_threads(launch) // block))
    assert launch.block == (block, 1, 1)
    assert launch.grid == (int(case.get("grid", str(needed))), 1, 1), case.id
    assert launch.shared == 0


def _largest_offsets(launch: Launch) -> list[tuple[Buffer, int]]:
    """Each strided operand with the largest offset that the info array lets a kernel compute."""
    names = [a.name for a in launch.args]
    info = next((a for a in launch.args if a.name in ("info", "dims_and_strides")), None)
    if info is None:
        return []
    operands: list[str] = [
        n for n in ("inp", "ids", "lhs", "rhs", "t", "f") if n in names and isinstance(_argument(launch, n), Buffer)
    ]
    if not operands and isinstance(_argument(launch, "inp"), Scalar):
        operands = ["out"]  # const_set
    numel, rank = _number(launch, "numel"), _number(launch, "num_dims")
    if isinstance(info, Null):
        return [(_buffer(launch, name), numel - 1) for name in operands]
    assert isinstance(info, Buffer)
    words = info.data.astype(np.int64)
    assert len(words) == max(1, rank * (1 + max(1, len(operands)))), launch.kernel
    dims = np.array(leading(words[:rank].tolist(), numel), np.int64) if numel else words[:rank]
    return [
        (_buffer(launch, name), int(((dims - 1) * words[rank * (k + 1) : rank * (k + 2)]).sum()))
        for k, name in enumerate(operands)
    ]


def _check_addresses(k: Kernel, case: Case, launch: Launch) -> None:
    if _threads(launch) == 0:
        return
    for buffer, offset in _largest_offsets(launch):
        assert buffer.start + offset < len(buffer.data), (case.id, buffer.name)
    if k.launch == "copy2d":
        rows, columns = _number(launch, "d1"), _number(launch, "d2")
        for name, step in (("src", "src_s"), ("dst", "dst_s")):
            buffer = _buffer(launch, name)
            assert buffer.start + (rows - 1) * _number(launch, step) + columns <= len(buffer.data), case.id


def _check_poison(k: Kernel, case: Case, launch: Launch) -> None:
    (out,) = [a for a in launch.args if isinstance(a, Buffer) and a.role in ("out", "inout")]
    raw = out.data.view(np.uint8)
    size = out.data.itemsize
    numel = _threads(launch)
    in_place = isinstance(_argument(launch, "inp"), Null) if "inp" in [a.name for a in launch.args] else False
    head = numel * size if in_place else 0
    assert (raw[head:] == case.poison_byte).all(), case.id
    assert out.role == ("inout" if in_place else k.param(out.name).role)
    assert len(out.data) >= TAIL
    if k.launch not in ("const_set", "copy2d"):
        assert len(out.data) == out.start + numel + TAIL, case.id


@pytest.mark.slow("builds the arguments of every kernel")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_launch_is_well_formed(family: str) -> None:
    assert cases(family)
    for k, case in cases(family):
        launch = launch_for(k, case)
        _check_arguments(k, case, launch)
        _check_geometry(k, case, launch)
        _check_addresses(k, case, launch)
        _check_poison(k, case, launch)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.slow("makes every kind of launch twice")
def test_same_id_same_bytes_and_salt_changes_them(family: str) -> None:
    random_ways = {"unit", "wide", "large", "mid", "tiny", "subnormal", "ties"}
    changed = 0
    for k, case in cases(family)[::17]:
        first = _digest(launch_for(k, case))
        assert _digest(launch_for(k, Case.parse(case.id))) == first
        several = case.get("layout", "") != "scalar" and _threads(launch_for(k, case)) > 30
        if case.get("values", "") in random_ways and several:
            assert _digest(launch_for(k, case, "salt")) != first, case.id
            changed += 1
    assert changed > 0 or family in ("fill", "const_set")


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("uexp_f32(shape=[3,5,7],layout=transposed,values=unit)", "06d53a883dbbe06ba31272fc429b6661"),
        ("bsub_i64(shape=[5,6,7],lhs=transposed,rhs=permuted,values=mid)", "8092674aa872c6ce0e9ec0da0b8cf740"),
        ("where_i64_bf16(shape=[300],values=wide,mask=high)", "afd99772e126e8076cee33d683cdf3b2"),
    ],
)
def test_bytes_of_a_case_do_not_change_between_versions(text: str, digest: str) -> None:
    # An id in somebody's report must go on meaning the same data.
    assert _digest(_built(text)).startswith(digest)


def test_hand_written_ids_build() -> None:
    launch = _built("uexp_f32(shape=[3,5,7],layout=transposed,values=special)")
    assert _number(launch, "numel") == 105
    assert _buffer(launch, "info").data.tolist() == [3, 5, 7, 35, 1, 5]
    launch = _built("badd_f16(shape=[2,3],layout=permuted)")
    assert _buffer(launch, "dims_and_strides").data.tolist() == [2, 3, 1, 2, 1, 2]
    launch = _built("const_set_u8(shape=[4,4],layout=narrowed,value=7,grid=9)")
    assert (launch.grid, _buffer(launch, "out").start) == ((9, 1, 1), 1)
    assert _number(launch, "inp") == 7


def test_rank_0_has_an_info_without_content() -> None:
    info = _buffer(_built("uexp_f32(shape=[],info=given)"), "info")
    assert info.data.tobytes() == bytes([POISON_BYTE]) * 8
    assert isinstance(_argument(_built("uexp_f32(shape=[])"), "info"), Null)
    assert isinstance(_argument(_built("where_u8_f32(shape=[])"), "info"), Buffer)


def test_in_place_ignores_the_layout() -> None:
    launch = _built("uneg_f32(shape=[6,7],layout=transposed,values=unit,inp=null)")
    out = _buffer(launch, "out")
    assert isinstance(_argument(launch, "inp"), Null)
    assert _buffer(launch, "info").data.tolist() == [6, 7, 1, 6]
    assert len(np.unique(out.data[:42])) > 20


def test_16_bit_pairs_take_every_pattern_on_both_sides() -> None:
    launch = _built("bmul_bf16(shape=[65536],values=exhaustive)")
    for name in ("lhs", "rhs"):
        assert len(np.unique(_buffer(launch, name).data.view(np.uint16))) == 65536


def test_8_bit_pairs_are_all_pairs_contiguous_and_strided() -> None:
    launch = _built("bmul_f8_e4m3(shape=[65536],values=exhaustive)")
    lhs, rhs = (_buffer(launch, name).data.view(np.uint8).astype(int) for name in ("lhs", "rhs"))
    assert len(np.unique(lhs * 256 + rhs)) == 65536
    launch = _built("bmul_f8_e4m3(shape=[256,256],lhs=broadcast,rhs=broadcast_first,values=exhaustive)")
    assert _buffer(launch, "dims_and_strides").data.tolist() == [256, 256, 1, 0, 0, 1]
    assert [len(np.unique(_buffer(launch, name).data.view(np.uint8))) for name in ("lhs", "rhs")] == [256, 256]


@pytest.mark.parametrize("name", ["bdiv_u8", "bdiv_u32", "bdiv_i64"])
def test_integers_are_never_divided_by_zero_or_the_least_by_minus_one(name: str) -> None:
    for case in (case for k, case in cases("binary") if k.name == name):
        launch = launch_for(kernel(name), case)
        lhs, rhs = _buffer(launch, "lhs").data, _buffer(launch, "rhs").data
        assert (rhs != 0).all(), case.id
        if name == "bdiv_i64" and len(lhs) == len(rhs) and "=" not in case.id.split("values")[0].split("shape=")[1]:
            assert not ((lhs == np.iinfo(np.int64).min) & (rhs == -1)).any(), case.id
        elif name == "bdiv_i64":
            assert not ((lhs == np.iinfo(np.int64).min).any() and (rhs == -1).any()), case.id


@pytest.mark.parametrize("name", [k.name for k in of("where")])
def test_ids_of_where_hold_zeros_and_nonzeros_of_every_width(name: str) -> None:
    ids = _buffer(_built(f"{name}(shape=[1025],values=wide)"), "ids").data
    assert 0.4 < (ids == 0).mean() < 0.6
    if ids.itemsize > 1:
        low_byte_only = (ids != 0) & ((ids & 0xFF) == 0)
        assert low_byte_only.sum() > 100
    if ids.itemsize == 8:
        assert ((ids != 0) & ((ids & 0xFFFFFFFF) == 0)).sum() > 50
    assert not (_buffer(_built(f"{name}(shape=[40],mask=nonzero)"), "ids").data == 0).any()
    assert (_buffer(_built(f"{name}(shape=[40],mask=zero)"), "ids").data == 0).all()


@pytest.mark.parametrize("values", ["special", "exhaustive"])
def test_the_two_sides_of_where_differ_almost_everywhere(values: str) -> None:
    for n in (40, 256, 1000):
        launch = _built(f"where_u8_u8(shape=[{n}],values={values})")
        same = _buffer(launch, "t").data[:n] == _buffer(launch, "f").data[:n]
        assert same.mean() < 0.1, n


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_of_layouts_have_both_answers(op: str) -> None:
    launch = _built(f"{op}_f32(shape=[3,5,7],layout=transposed,values=ties)")
    lhs, rhs = _buffer(launch, "lhs").data, _buffer(launch, "rhs").data
    assert 0.2 < (lhs == rhs).mean() < 0.6
    assert 0.2 < (lhs < rhs).mean() < 0.6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uexp_f32(shape=[3],layuot=transposed)", "unknown field 'layuot'; its family has: shape, layout, values"),
        ("uexp_f32(shape=[3],layout=diagonal)", "unknown layout 'diagonal'"),
        ("uexp_f32(shape=[3],layout=transposed)", "needs a shape of rank 2 or more"),
        ("uexp_f32(shape=[3],values=nice)", "unknown values 'nice'"),
        ("uexp_f32(shape=[3],values=exhaustive)", "needs a type of 8 or 16 bits, not f32"),
        ("uexp_f32(layout=contiguous)", "field 'shape' is missing"),
        ("uexp_f32(shape=3)", "must be a list such as"),
        ("uexp_f32(shape=[-3])", "shape must have sizes of 0 or more"),
        ("uexp_f32(shape=[3],shape=[4])", "a field is given twice"),
        ("uexp_f32(shape=[3],inp=given)", "inp must be one of null"),
        ("uexp_f32(shape=[3],info=maybe)", "info must be one of null, given"),
        ("uexp_f32(shape=[3,4],layout=transposed,info=null)", "info=null means contiguous operands"),
        ("uexp_f32(shape=[3],grid=0)", "grid must be an integer from 1"),
        ("uexp_f32(shape=[3],block=2048)", "block must be an integer from 1 to 1024, not '2048'"),
        ("uexp_f32(shape=[3],start=-1)", "start must be an integer from 0"),
        ("uexp_f32(shape=[3],param=1)", "unknown field 'param'"),
        ("uelu_f32(shape=[3],param=one)", "'one' is not a scalar of type f32"),
        ("cast_f32_f16(shape=[3],inp=null)", "unknown field 'inp'"),
        ("where_u8_f32(shape=[3],info=null)", "always reads info, so info=null is not allowed"),
        ("where_u8_f32(shape=[3],mask=half)", "mask must be one of mixed, zero, nonzero, high"),
        ("badd_f32(shape=[3],left=transposed)", "unknown field 'left'"),
        ("badd_u8(shape=[3],values=subnormal)", "values=subnormal needs a float type, not u8"),
        ("fill_f32(shape=[3,4],value=1)", "shape must have 1 sizes of 0 or more"),
        ("fill_u8(shape=[3],value=0x100)", "'0x100' is not a scalar of type u8"),
        ("copy2d_f32(shape=[3,4],grid=1,block=4)", "each thread handles one element, so grid must be 3 or more, not 1"),
        ("copy2d_f32(shape=[3,4],dst_s=3)", "dst_s must be an integer from 4"),
        ("uexp_f32(shape=[99999999999])", "needs more than"),
    ],
)
def test_bad_cases_are_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", "\\[")) as caught:
        _built(text)
    assert text.partition("(")[0] in str(caught.value)


def test_a_case_of_another_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match="belongs to kernel uexp_f32, not to ulog_f32"):
        launch_for(kernel("ulog_f32"), Case.parse("uexp_f32(shape=[3])"))


def test_a_parameter_list_that_the_family_does_not_know_is_refused() -> None:
    k = kernel("uexp_f32")
    extended = dataclasses.replace(k, params=(*k.params, kernel("uelu_f32").param("param")))
    with pytest.raises(ValueError, match=r"kernel uexp_f32 takes .*param.*; its family unary has"):
        launch_for(extended, Case.parse("uexp_f32(shape=[3])"))
