"""Causes from records that are made by hand: what is named, what is not, and how much room it takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conformance.cases.candle_changes import CHANGES
from conformance.cases.traits import NOT_CONTIGUOUS, TRAITS, traits_of
from conformance.outcome import Evidence, Failure, Observation
from conformance.record import KernelResult
from conformance.report.causes import cause_lines, find_causes
from conformance.report.causes.cause import Cause
from conformance.report.causes.table import CAUSES
from conformance.report.causes.text import SCREEN, WIDTH
from conformance.spec.load import SPEC_FOLDER, load_specs
from conformance.status import Status
from conformance.verdict.evidence import IMPOSSIBLE_GEOMETRY
from conformance.verdict.wrong_elements import KINDS

SPECS_LOADED = load_specs()


def row(name: str = "uneg_f32", status: Status = "fail", **fields: Any) -> KernelResult:
    kernel = SPECS_LOADED.kernels[name]
    return KernelResult(
        name=name, module=kernel.module, family=kernel.family, upstream=kernel.upstream, status=status, **fields
    )


def failing(*groups: tuple[Evidence, tuple[str, ...]], passed: tuple[str, ...] = (), name: str = "uneg_f32"):
    count = sum(len(cases) for _, cases in groups)
    observations = tuple(Observation(evidence, cases) for evidence, cases in groups)
    return row(name, cases=count + len(passed), failed=count, observations=observations, passed=passed)


def named(*rows: KernelResult) -> list[tuple[str, list[str]]]:
    findings = find_causes(rows, SPECS_LOADED)
    return [(finding.cause.id, [share.kernel.name for share in finding.shares]) for finding in findings]


ULP = Evidence(elements=("1 ulp away from zero",))
OTHER = Evidence(elements=("other",))
NULL = Evidence(fault="null pointer")


def test_evidence_that_holds_for_some_cases_only_names_no_cause() -> None:
    assert named(failing((ULP, ("shape=[3]",)), (OTHER, ("shape=[4]",)))) == [("not recognised", ["uneg_f32"])]


def test_two_causes_that_are_not_told_apart_are_mixed() -> None:
    zero = Evidence(elements=("sign of zero",))
    (finding,) = find_causes([failing((ULP, ("shape=[3]",)), (zero, ("shape=[4]",)))], SPECS_LOADED)
    assert finding.cause.id == "mixed"
    assert "sign of zero" in finding.detail


def test_a_fault_and_a_wrong_answer_have_a_cause_each() -> None:
    mixed = failing((NULL, ("shape=[105],inp=null",)), (ULP, ("shape=[3]",)))
    assert named(mixed) == [("null-input", ["uneg_f32"]), ("one-rounding", ["uneg_f32"])]


def test_an_impossible_geometry_of_the_ports_own_is_a_cause() -> None:
    impossible = failing((Evidence(fault=IMPOSSIBLE_GEOMETRY), ("shape=[0]",)), (OTHER, ("shape=[3]",)))
    assert ("impossible-geometry", ["uneg_f32"]) in named(impossible)


def test_what_passes_counts() -> None:
    strided, plain = "shape=[3,5],layout=transposed", "shape=[15]"
    in_input_order = Evidence(elements=("other",), answers=("input order",))
    assert named(failing((in_input_order, (strided,)), passed=(plain,))) == [("strides-ignored", ["uneg_f32"])]
    other = "shape=[3,5,7],layout=outer_swapped"
    assert named(failing((in_input_order, (strided,)), passed=(plain, other))) == [("contiguity", ["uneg_f32"])]


def test_far_rows_go_with_other_strided_cases_that_fail_and_are_a_cause_alone() -> None:
    far = Evidence(fault="wild address"), ("shape=[2,40],layout=narrowed,far=2147483649",)
    in_input_order = Evidence(elements=("other",), answers=("input order",))
    assert named(failing((in_input_order, ("shape=[3,5],layout=transposed",)), far)) == [
        ("strides-ignored", ["uneg_f32"])
    ]
    assert named(failing((ULP, ("shape=[9]",)), far)) == [
        ("narrow-offset", ["uneg_f32"]),
        ("one-rounding", ["uneg_f32"]),
    ]


def test_narrow_words_of_info_explain_most_strided_cases_or_none() -> None:
    narrow = Evidence(elements=("other",), answers=("right with info in 32-bit words",))
    strided, other = "shape=[3,5],layout=transposed", "shape=[5,3],layout=transposed"
    assert named(failing((narrow, (strided,)), (ULP, ("shape=[9]",))))[0][0] == "narrow-info"
    by_chance = failing((narrow, ("shape=[3,1100],mark=nan_first",)), (OTHER, (strided, other)))
    assert named(by_chance) == [("not recognised", ["uneg_f32"])]


def test_an_id_that_is_used_as_an_index_may_lie_in_memory_of_others() -> None:
    faults, plain = Evidence(fault="wild address"), "shape=[1,9,1],count=1,ids=plain"
    first, second, third = (f"shape=[{n},11,5],count=7,ids=mixed" for n in (3, 4, 5))
    assert named(failing((faults, (first,)), (OTHER, (second,)), passed=(plain, third), name="is_u32_f32")) == [
        ("sentinel-address", ["is_u32_f32"])
    ]
    assert named(failing((faults, (first,)), (OTHER, (plain,)), name="is_u32_f32"))[0][0] == "sentinel-address"


def test_an_id_that_is_used_as_an_index_may_fault_at_an_address_that_is_told_as_null() -> None:
    faults, plain = Evidence(fault="null pointer"), "shape=[1,9,1],count=1,ids=plain"
    mixed = ("shape=[3,11,5],count=7,ids=mixed",)
    assert named(failing((faults, mixed), passed=(plain,), name="ia_u32_f64")) == [("sentinel-address", ["ia_u32_f64"])]
    assert named(failing((faults, (plain,)), passed=mixed, name="ia_u32_f64")) == [("null", ["ia_u32_f64"])]


def test_what_only_some_launches_have_is_told_as_that() -> None:
    dilated = tuple(f"shape=[1,2,{n}],k=[3],dilation=2" for n in range(9, 12))
    plain = tuple(f"shape=[1,2,{n}],k=[3]" for n in range(9, 20))
    row = failing((OTHER, dilated), passed=plain, name="conv1d_f32")
    assert named(row) == [("only a dilation", ["conv1d_f32"])]
    by_chance = failing((OTHER, dilated[:1]), passed=plain, name="conv1d_f32")
    assert named(by_chance) == [("not recognised", ["conv1d_f32"])]


def test_parameters_that_differ_in_their_type_only_are_one_cause() -> None:
    rows = [
        row(f"uelu_{name}", "signature", message=f"parameter 4 is {kind} const*, Candle's is {name} param")
        for name, kind in (("f32", "float"), ("f64", "double"))
    ]
    assert named(*rows) == [("signature", ["uelu_f32", "uelu_f64"])]
    (finding,) = find_causes(rows, SPECS_LOADED)
    assert finding.detail == "parameter 4 is float const*, Candle's is f32 param, in uelu_f32"


def test_a_port_that_has_followed_none_of_a_change_of_candles_is_told_its_age() -> None:
    rows = [failing((NULL, ("shape=[3]",)), name=name) for name in ("uneg_f32", "uabs_f32", "affine_f32")]
    said = "follows Candle before b219903d0 (2024-03-20; since then info is null for contiguous operands): 3 kernels"
    assert any(said in line for line in cause_lines(find_causes(rows, SPECS_LOADED)))
    followed = find_causes([*rows, row("uneg_f64", status="pass", cases=1)], SPECS_LOADED)
    assert not any("follows Candle" in line for line in cause_lines(followed))


def test_the_changes_of_candle_name_causes_and_launches_that_there_are() -> None:
    launches = {kernel.launch for kernel in SPECS_LOADED.kernels.values()}
    for change in CHANGES:
        assert set(change.causes) <= {cause.id for cause in CAUSES}
        assert set(change.launches) <= launches
        assert set(change.traits) <= set(TRAITS)


def in_geometry(*texts: str, fault: str | None = None) -> Evidence:
    """Evidence of a case that is right in the launch geometries ``texts``."""
    return Evidence(("other",), tuple(f"right launched with {text}" for text in texts), fault)


def test_a_geometry_in_which_a_kernel_is_right_is_printed_as_a_row_of_the_toml() -> None:
    row = failing(
        (in_geometry("block = [512]", 'grid = ["ceildiv(numel, 256)"]; block = [256]'), ("shape=[3]",)),
        (in_geometry('grid = ["ceildiv(numel, 256)"]; block = [256]'), ("shape=[4]",)),
        (OTHER, ("shape=[5]",)),
    )
    (finding,) = find_causes([row], SPECS_LOADED)
    lines = ["[[launch]]", 'kernels = "uneg_f32"', 'grid = ["ceildiv(numel, 256)"]', "block = [256]"]
    assert (finding.cause.id, finding.declaration) == ("other-geometry", lines)
    assert [line.strip() for line in cause_lines([finding])][-4:] == lines


def test_what_is_said_of_an_own_kernel_names_no_kernel_of_candles() -> None:
    case = (in_geometry("block = [512]"), ("shape=[3]",))
    geometry = failing(case).model_copy(update={"name": "fadd_f32"})
    (finding,) = find_causes([geometry], SPECS_LOADED)
    assert finding.cause.title == "In another launch geometry than its spec's it is right"
    parameters = row(status="signature", message="has 3 parameters").model_copy(update={"name": "fadd_f32"})
    (finding,) = find_causes([parameters], SPECS_LOADED)
    assert finding.cause.title == "Other parameters than in its spec"
    assert "Candle" not in finding.advice


def test_a_case_whose_failure_is_not_shown_is_told_by_its_id() -> None:
    (finding,) = find_causes([failing((OTHER, ("shape=[3],values=unit",)))], SPECS_LOADED)
    assert cause_lines([finding])[-1].strip() == "first: uneg_f32(shape=[3],values=unit)"


def test_a_geometry_that_only_one_of_several_failing_cases_bears_out_is_none() -> None:
    row = failing((in_geometry("block = [512]"), ("shape=[3]",)), (OTHER, ("shape=[4]",)))
    assert named(row) == [("not recognised", ["uneg_f32"])]


def test_a_fault_outside_of_shared_memory_may_be_of_another_geometry() -> None:
    fault = "outside of shared memory"
    in_blocks = in_geometry("block = [256]", fault=fault)
    assert named(failing((in_blocks, ("shape=[3]", "shape=[4]"))))[0][0] == "geometry-fault"
    assert named(failing((Evidence(fault=fault), ("shape=[3]", "shape=[4]"))))[0][0] == "shared-memory"


def test_blocks_that_an_older_record_names_are_such_a_geometry() -> None:
    right = Evidence(elements=("other",), answers=('right in blocks of ["64", "block_y", "block_z"]',))
    (finding,) = find_causes([failing((right, ("shape=[3]", "shape=[4]")))], SPECS_LOADED)
    assert (finding.cause.id, finding.detail) == ("other-geometry", 'block = ["64", "block_y", "block_z"]')


@pytest.mark.parametrize(
    ("offsets", "factor"), [(("1e-06", "9.8e-07"), "1.000001"), (("-0.00125", "-0.00124"), "0.9988")]
)
def test_the_factor_by_which_all_answers_are_off_is_told(offsets: tuple[str, ...], factor: str) -> None:
    groups = [(Evidence(("few ulp",), (f"off by 1 and {off}",)), (f"shape=[{off}]",)) for off in offsets]
    (finding,) = find_causes([failing(*groups)], SPECS_LOADED)
    assert (finding.cause.id, finding.detail) == ("scaled", factor)


def test_answers_that_are_off_by_several_factors_are_not_scaled() -> None:
    groups = [(Evidence(("few ulp",), (f"off by 1 and {off}",)), (f"shape=[{off}]",)) for off in ("1e-06", "5e-06")]
    assert named(failing(*groups)) == [("few-ulp", ["uneg_f32"])]


def test_a_record_without_observations_is_told_by_its_failures() -> None:
    failure = Failure("uneg_f32(shape=[3],inp=null)", "fault", evidence=NULL)
    assert named(row(cases=3, failed=1, failures=(failure,))) == [("null-input", ["uneg_f32"])]
    assert named(row(cases=3, failed=1, failures=(Failure("uneg_f32(a=1)", "wrong"),))) == [
        ("not recognised", ["uneg_f32"])
    ]


def test_kernels_that_pass_have_no_cause() -> None:
    assert find_causes([row(status="pass", cases=1), row("uabs_f32", "missing")], SPECS_LOADED) == []
    assert cause_lines([]) == []


def test_causes_take_one_screen() -> None:
    names = list(SPECS_LOADED.kernels)[:200]
    rows = [row(name, "compile_error", message=f"{name}.hip:1:1: error: no {name} {'at all ' * 30}") for name in names]
    lines = cause_lines(find_causes(rows, SPECS_LOADED))
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= WIDTH
    assert "causes more" in lines[-1]


def test_the_table_names_what_there_is() -> None:
    classes = set(re.findall(r"^\| ([A-Z]\d+) ", (SPEC_FOLDER / "bug-classes.md").read_text(), re.MULTILINE))
    launches = {kernel.launch for kernel in SPECS_LOADED.kernels.values()}
    for cause in CAUSES:
        assert not cause.bug_class or cause.bug_class in classes, cause.id
        assert set(cause.elements) | set(cause.has) <= {*KINDS, "before the start", "input overwritten"}, cause.id
        assert set(cause.launches) <= launches, cause.id
        assert set(cause.traits) <= set(TRAITS), cause.id
    assert len({cause.id for cause in CAUSES}) == len(CAUSES)


@pytest.mark.parametrize(
    ("case", "strided"),
    [
        ("shape=[3,5],layout=transposed", True),
        ("shape=[3,5],lhs=broadcast", True),
        ("shape=[3,1],layout=ones", False),
        ("shape=[9],layout=narrowed", False),
        ("shape=[3,11,5],count=7,ids=mixed", False),
        ("nonsense", False),
    ],
)
def test_a_strided_operand_is_told_from_the_id(case: str, strided: bool) -> None:
    assert (NOT_CONTIGUOUS in traits_of(case)) == strided


@pytest.mark.parametrize("value", ["[--1]", "[-]", "9" * 5000, f"[3,{'9' * 5000}]", "[³]"])
def test_a_number_that_no_case_has_is_none(value: str) -> None:
    """A record may hold any text."""
    assert traits_of(f"shape={value},k={value}") == frozenset({"a null info"})
    assert named(failing((OTHER, (f"shape={value}",)))) == [("not recognised", ["uneg_f32"])]


def told(failed: int, others: int) -> str:
    """The evidence of one-ulp failures in ``failed`` strided cases, next to ``others`` strided ones that pass and 20
    that are not strided."""
    strided = [f"shape=[{1026 + 2 * number},3],layout=transposed" for number in range(failed + others)]
    plain = tuple(f"shape=[{1026 + 2 * number},3]" for number in range(20))
    (finding,) = find_causes(
        [failing((ULP, tuple(strided[:failed])), passed=(*strided[failed:], *plain))], SPECS_LOADED
    )
    return next(line for line in cause_lines([finding]) if " fail" in line and "pass" in line)


def test_what_failing_cases_share_is_told_unless_chance_would_give_as_much() -> None:
    assert "; 1 case fails, 35 pass" in told(1, 15)
    assert "; 1 case fails, 20 pass" in told(1, 0)
    assert "; all 3 cases with operands that are not contiguous fail, the other 20 pass" in told(3, 0)
    assert "; 12 cases fail, 33 pass" in told(12, 13)
    assert "; 12 cases fail, all with operands that are not contiguous; with it 8 pass, without 20" in told(12, 8)


@pytest.mark.parametrize("cause", CAUSES, ids=[cause.id for cause in CAUSES])
def test_neither_a_title_nor_what_to_do_is_cut_short_on_a_terminal(cause: Cause) -> None:
    for told in (cause, cause.of_own_kernels()):
        assert len(f"  748 kernels: {told.title} [N04]") <= WIDTH
        assert len(f"      to do: {told.advice}") <= WIDTH


OF_CANDLES = ("cpu-backend-", "product-", "random-", "fixes-upstream", "height-width", "flat-index")
"""Causes that are found in Candle's kernels and calls of libraries alone."""


@pytest.mark.parametrize("cause", CAUSES, ids=[cause.id for cause in CAUSES])
def test_kernels_that_candle_has_not_are_not_told_to_compare_with_candles(cause: Cause) -> None:
    told = cause.of_own_kernels()
    assert cause.id.startswith(OF_CANDLES) or "Candle" not in f"{told.title} {told.advice}"
