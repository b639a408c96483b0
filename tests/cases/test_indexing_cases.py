"""Whether the indexing cases can tell a wrong kernel: what a wrong port would read must change the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from listed import kernel, of

import reference
from conformance.cases import Case, cases_for, launch_for
from conformance.cases.families.indexing import FAULTING
from conformance.cases.launch import Buffer, Launch
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel
from reference.expected import Faults

SELECTS = ("index_select", "gather")
PUTS = ("index_add", "scatter", "scatter_add")
ADDS = ("index_add", "scatter_add")
ALL = (*SELECTS, *PUTS)

Arguments = dict[str, Any]
Mistake = Callable[[Launch, Arguments], Arguments | None]


def _is_unmarked(k: Kernel) -> bool:
    return k.launch in ADDS and k.param("inp").dtype == "f8e4m3"


def _ids_as(change: Callable[[Any], Any]) -> Mistake:
    return lambda _, arguments: {**arguments, "ids": change(arguments["ids"])}


def _none_as_zero(ids: Any) -> Any:
    return np.where(ids == np.iinfo(ids.dtype).max, 0, ids)


def _narrow(ids: Any) -> Any:
    """I03: read a byte at a time; ids that no longer fit become 0."""
    read = ids.view(np.uint8)[: ids.size].astype(ids.dtype)
    return np.where(read < 4, read, 0)


def _reversed_order(_: Launch, arguments: Arguments) -> Arguments:
    """I05: the last source element first."""
    left, count, right = (int(arguments[name]) for name in ("left_size", "src_dim_size", "right_size"))
    n = left * count * right

    def turned(array: Any, shape: tuple[int, int, int]) -> Any:
        size = int(np.prod(shape))
        return np.concatenate([array[:size].reshape(shape)[:, ::-1].reshape(-1), array[size:]])

    ids = arguments["ids"]
    ids = turned(ids, (1, count, 1)) if "ids_dim_size" in arguments else turned(ids, (left, count, right))
    return {**arguments, "ids": ids, "inp": turned(arguments["inp"], (left, count, right)) if n else arguments["inp"]}


def _cleared(_: Launch, arguments: Arguments) -> Arguments:
    """I06: the destination taken for zero."""
    return {**arguments, "out": np.zeros_like(arguments["out"])}


def _offset(name: str) -> Mistake:
    def mistake(launch: Launch, arguments: Arguments) -> Arguments | None:
        buffer = next(argument for argument in launch.args if argument.name == name)
        assert isinstance(buffer, Buffer)
        return {**arguments, name: buffer.data} if buffer.start else None

    return mistake


def _sizes_exchanged(a: str, b: str) -> Mistake:
    return lambda _, arguments: {**arguments, a: arguments[b], b: arguments[a]}


def _plain_info(_: Launch, arguments: Arguments) -> Arguments:
    return {**arguments, "info": np.array([1, 1], np.uint64), "num_dims": np.uint64(1)}


MISTAKES: tuple[tuple[str, tuple[str, ...], Mistake], ...] = (
    ("I01 none taken for 0", ALL, _ids_as(_none_as_zero)),
    ("I03 ids of one byte", ALL, _ids_as(_narrow)),
    ("I05 the other order", PUTS, _reversed_order),
    ("I06 destination taken for zero", PUTS, _cleared),
    ("L09 offset of ids ignored", ALL, _offset("ids")),
    ("L09 offset of inp ignored", ALL, _offset("inp")),
    ("L02 left and right exchanged", PUTS, _sizes_exchanged("left_size", "right_size")),
    ("S01 info ignored", ("index_select",), _plain_info),
)


def _answer(k: Kernel, arguments: Arguments) -> bytes:
    # A mistake may read past an allocation: let it find something there.
    padded = {
        name: np.concatenate([value, np.resize(value, 20000)]) if name in ("inp", "ids") else value
        for name, value in arguments.items()
    }
    with np.errstate(all="ignore"):
        try:
            (expected,) = reference.evaluate(k.module, k.family, k.variant, 0, padded).values()
        except (Faults, ValueError, IndexError):
            return b"fault"
    return expected.value.tobytes()


def _sound(k: Kernel) -> list[Case]:
    return [case for case in cases_for(k) if case.get("ids") not in FAULTING]


def _can_show(what: str, k: Kernel) -> bool:
    if what.startswith("I01"):
        return not _is_unmarked(k)
    if what.startswith("I03"):
        return dtype(k.param("ids").dtype).size > 1
    if what.startswith("I05"):  # integers add in any order
        return k.launch == "scatter" or dtype(k.param("inp").dtype).kind == "float"
    return True


def _tells(k: Kernel, case: Case, mistake: Mistake) -> bool:
    launch = launch_for(k, case)
    right = launch.reference_arguments()
    wrong = mistake(launch, right)
    return wrong is not None and _answer(k, wrong) != _answer(k, right)


@pytest.mark.slow("the reference of every indexing kernel again for each mistake")
@pytest.mark.parametrize(("what", "families", "mistake"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_every_kernel_has_a_case_that_tells(what: str, families: tuple[str, ...], mistake: Mistake) -> None:
    kernels = [k for k in of(*families) if _can_show(what, k)]
    assert kernels
    assert [k.name for k in kernels if not any(_tells(k, case, mistake) for case in _sound(k))] == []


@pytest.mark.slow("the reference of every indexing kernel again for each mistake")
def test_cases_that_must_fault_do_so_in_the_reference_and_no_other_does() -> None:
    for k in of(*ALL):
        found = set()
        for case in cases_for(k):
            launch = launch_for(k, case)
            arguments = launch.reference_arguments()
            if case.get("ids") in FAULTING:
                found.add(case.get("ids"))
                with pytest.raises(Faults):
                    reference.evaluate(k.module, k.family, k.variant, 0, arguments)
            elif case.get("values") != "wide":
                with np.errstate(all="ignore"):
                    assert reference.evaluate(k.module, k.family, k.variant, 0, arguments), case.id
        ids = dtype(k.param("ids").dtype)
        expected = {
            "beyond",
            "foreign",
            *(["negative"] if ids.kind == "int" else []),
            *(["cut"] if ids.size == 8 else []),
        }
        assert found == (set() if _is_unmarked(k) else expected)


def _leads_inside(k: Kernel, case: Case) -> bool:
    """Whether a kernel without a check would stay inside the buffer, and so end without a fault of another kind."""
    indexed = next(a for a in launch_for(k, case).args if a.name == ("inp" if k.launch in SELECTS else "out"))
    assert isinstance(indexed, Buffer)
    left, dim, right = case.integers("shape")
    if case.get("ids") == "negative":
        return indexed.start >= right
    # gather and scatter meet the id in the middle of the ids, not in the last row.
    behind = right if k.launch in ("index_select", "index_add") else 0
    return len(indexed.data) - indexed.start - left * dim * right >= behind


@pytest.mark.parametrize("distribution", ["beyond", "negative"])
def test_every_kernel_has_a_case_where_a_missing_check_would_be_silent(distribution: str) -> None:
    kernels = [k for k in of(*ALL) if any(case.get("ids") == distribution for case in cases_for(k))]
    assert len(kernels) == (115 if distribution == "beyond" else 41)
    for k in kernels:
        assert any(_leads_inside(k, case) for case in cases_for(k) if case.get("ids") == distribution), k.name


def test_f8_sums_get_no_id_that_upstream_does_not_check() -> None:
    checked = 0
    for k in (k for k in of(*ADDS) if _is_unmarked(k)):
        for case in cases_for(k):
            launch = launch_for(k, case)
            ids = launch.reference_arguments()["ids"].astype(np.int64)
            dim = case.integers("shape")[1]
            assert ((ids >= 0) & (ids < max(dim, 1))).all(), case.id
            checked += 1
    assert checked > 100


def test_destinations_hold_values_and_a_poisoned_tail() -> None:
    for k in of(*PUTS):
        for case in cases_for(k):
            (out,) = (a for a in launch_for(k, case).args if a.name == "out")
            assert isinstance(out, Buffer)
            assert out.role == "inout"
            left, dim, right = case.integers("shape")
            tail = out.data[out.start + left * dim * right :]
            assert tail.size == 9
            assert (tail.view(np.uint8) == case.poison_byte).all(), case.id


def test_threads_are_candle_s() -> None:
    for name, text, threads in (
        ("is_u32_f32", "shape=[3,11,50],count=7", 3 * 7 * 50),
        ("gather_i64_f16", "shape=[3,11,50],count=70,numel=2000", 2000),
        ("ia_u8_f64", "shape=[3,11,500],count=7", 1500),
        ("s_u32_u8", "shape=[3,11,500],count=7", 1500),
        ("sa_i16_f8_e4m3", "shape=[3,11,500],count=7", 1500),
    ):
        launch = launch_for(kernel(name), Case.parse(f"{name}({text})"))
        assert (launch.grid, launch.block) == ((-(-threads // 1024), 1, 1), (1024, 1, 1)), name


def test_strided_ids_are_read_as_if_they_were_not() -> None:
    name = "is_i64_u8"
    launch = launch_for(kernel(name), Case.parse(f"{name}(shape=[2,8,6],count=4,layout=stepped,ids=ordered)"))
    arguments = launch.reference_arguments()
    assert arguments["info"].tolist() == [4, 3]
    assert arguments["ids"][:4].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gather_u8_f32(shape=[3,4],count=2)", "shape must have 3 sizes of 0 or more"),
        ("gather_u8_f32(shape=[3,4,5],count=2,ids=random)", "ids must be one of plain, mixed"),
        ("gather_u8_f32(shape=[3,4,5],count=2,numel=31)", "numel must be an integer from 0 to 30"),
        ("is_u8_f32(shape=[3,4,5],count=2,ids=negative)", "ids=negative needs an id that u8 does not have"),
        ("s_u8_f32(shape=[3,4,5],count=2,layout=stepped)", "unknown field 'layout'"),
    ],
)
def test_bad_cases_are_refused_by_name(text: str, message: str) -> None:
    case = Case.parse(text)
    with pytest.raises(ValueError, match=message.replace("[", "\\[")):
        launch_for(kernel(case.kernel), case)
