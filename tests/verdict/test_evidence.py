"""How wrong elements differ from what was expected, and what explains them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Buffer
from conformance.dtypes import dtype
from conformance.outcome import Evidence
from conformance.processes import InfrastructureError
from conformance.report.causes.table import CAUSES
from conformance.runtimes.hip.errors import HipError
from conformance.spec.load import load_specs
from conformance.toolchains.compile_error import first_error
from conformance.verdict import trials
from conformance.verdict.compare import wrong_elements
from conformance.verdict.evidence import RIGHT_IN_ANOTHER_ORDER, evidence_of, evidence_of_fault, fault_kind
from conformance.verdict.judge import Judging
from conformance.verdict.loop import KEPT_FAILURES, Answers, run_cases
from conformance.verdict.operands import rows_of
from conformance.verdict.trials import TrialCase, generated
from conformance.verdict.wrong_elements import Elements, kinds
from reference.expected import Expected

SPECS = load_specs()


def kinds_of(got: list[float], expected: list[float], before: list[float] | None = None, name: str = "f32"):
    row = dtype(name)
    arrays = [np.array(values).astype(row.numpy) for values in (got, expected, before or [77] * len(got))]
    wrong = wrong_elements(arrays[0], Expected(arrays[1]), arrays[2], row, 0)
    assert wrong is not None
    return kinds(Elements(wrong, arrays[2][wrong.at], row))


UP = float(np.nextafter(np.float32(1), np.float32(2)))
LEAST = float(np.finfo(np.float32).smallest_subnormal)


@pytest.mark.parametrize(
    ("got", "expected", "kind"),
    [
        (np.nan, 1, "NaN for number"),
        (1, np.nan, "number for NaN"),
        (np.inf, np.nan, "inf for NaN"),
        (-0.0, 0.0, "sign of zero"),
        (0.0, LEAST, "zero for subnormal"),
        (1.0, UP, "1 ulp towards zero"),
        (-UP, -1.0, "1 ulp away from zero"),
        (1.000001, 1.0, "few ulp"),
        (np.inf, 3.0, "inf for number"),
        (3.0, np.inf, "number for inf"),
        (0.0, 3.0, "zero for number"),
        (3.0, 0.0, "number for zero"),
        (3.001, 3.0, "close"),
        (-3.0, 3.0, "other sign"),
        (float(np.finfo(np.float32).max), 3.0, "limit for number"),
        (77, 3.0, "unwritten"),
        (5.0, 3.0, "other"),
    ],
)
def test_an_element_is_of_one_kind(got: float, expected: float, kind: str) -> None:
    assert kinds_of([got], [expected]) == (kind,)


@pytest.mark.parametrize(("got", "expected", "kind"), [(255, 3, "limit for number"), (4, 255, "number for limit")])
def test_integers_have_kinds_too(got: int, expected: int, kind: str) -> None:
    assert kinds_of([got], [expected], name="u8") == (kind,)


def case_of(kernel: str, text: str) -> TrialCase:
    return next(iter(generated(SPECS.kernels[kernel], [Case.parse(f"{kernel}({text})")], "")))


def answers_of(kernel: str, text: str, change) -> tuple[str, ...]:
    """The answers where the kernel has written ``change(expected, inputs)`` to its output."""
    case = case_of(kernel, text)
    buffers = {arg.name: arg for arg in case.launch.args if isinstance(arg, Buffer)}
    (name,) = case.expected
    value = case.expected[name].value
    inputs = {key: arg.data[arg.start :] for key, arg in buffers.items()}
    got = np.asarray(change(value.copy(), inputs)).astype(value.dtype)
    return evidence_of(SPECS.kernels[kernel], case.launch, buffers[name], got, case.expected[name]).answers


def written(values, count, part):
    values[:count] = part[:count]
    return values


def test_input_order_is_known_by_its_answer() -> None:
    found = answers_of(
        "uneg_f32", "shape=[3,5,7],layout=transposed,values=unit", lambda e, i: written(e, 105, -i["inp"])
    )
    assert "input order" in found


def test_results_that_are_cut_off_are_known_to_the_smallest() -> None:
    def cut(expected, _):
        bits = expected.view(np.uint16)
        bits[:64] -= bits[:64] & 0x7FFF != 0
        return expected

    assert "next float towards zero" in answers_of("ucopy_bf16", "shape=[64],values=subnormal", cut)


def test_an_index_over_all_rows_is_known() -> None:
    case = ("fast_argmax_f32", "shape=[9,3],values=unit")
    assert "index over all rows" in answers_of(*case, lambda e, _: written(e, 9, e[:9] + 3 * np.arange(9)))
    assert "index over all rows" not in answers_of(*case, lambda e, _: written(e, 9, e[:9] + 3))


def test_lanes_of_a_wave_are_known() -> None:
    """One by one: the upper half of a wave, a lane's value in all others, and what could be by chance."""
    found = answers_of("ucopy_u32", "shape=[64],values=unit", lambda e, i: written(e, 63, np.r_[e[:32], e[32:63] + 1]))
    assert found == ("lanes 32 to 63",)
    found = answers_of("uneg_f32", "shape=[64],values=unit", lambda e, i: written(e, 64, np.full(64, e[7])))
    assert "value of another lane" in found
    found = answers_of("uneg_f32", "shape=[64],values=unit", lambda e, i: written(e, 64, np.r_[e[:60], e[:4]]))
    assert "value of another lane" not in found


def test_the_neighbours_value_is_known() -> None:
    found = answers_of("uneg_f32", "shape=[64],values=unit", lambda e, i: written(e, 63, e[1:64].copy()))
    assert found == ("value of the next element", "value of another lane")


def test_an_infinity_that_becomes_the_nan_next_to_it_has_no_neighbours_value() -> None:
    def changed(expected, inputs):
        source = inputs["inp"][:65536].astype(np.float32)
        return written(expected, 65536, np.where(np.isinf(source), np.nan, expected[:65536].astype(np.float32)))

    found = answers_of("cast_f16_f8_e4m3", "shape=[65536],values=exhaustive", changed)
    assert "ends of 8-bit floats" in found
    assert "value of the next element" not in found


def test_a_factor_is_known() -> None:
    found = answers_of("uneg_f32", "shape=[64],values=unit", lambda e, i: written(e, 64, 3 * e))
    assert "factor 3" in found
    found = answers_of("uneg_f32", "shape=[64],values=unit", lambda e, i: written(e, 64, -e))
    assert not any(name.startswith("factor") for name in found)


@pytest.mark.parametrize(("wrong", "known"), [({0: 0.03, 448: math.nan}, True), ({0: 0.03, 448: 416}, False)])
def test_conversions_that_differ_at_the_ends_of_8_bit_floats_are_known(wrong: dict[float, float], known: bool) -> None:
    """0 where a number stands, and the largest number where a NaN stands."""

    def changed(expected, inputs):
        values = expected.astype(np.float32)
        for right, other in wrong.items():
            values[values == right] = other
        return values

    found = answers_of("uexp_fp8_e4m3", "shape=[256],values=exhaustive", changed)
    assert ("ends of 8-bit floats" in found) is known


def test_a_lost_tail_is_known() -> None:
    def lost(expected, inputs):
        expected[61:64] = inputs["out"][61:64]
        return expected

    assert "last elements" in answers_of("uneg_f32", "shape=[64],values=unit", lost)


@pytest.mark.parametrize(
    ("root", "answer"),
    [(0.7071067812, "fewer digits than f64"), (np.float64(np.float32(0.5**0.5)), "precision of f32")],
)
def test_a_constant_with_too_few_digits_is_told_from_one_of_f32(root: float, answer: str) -> None:
    erf = np.frompyfunc(math.erf, 1, 1)

    def gelu(expected, inputs):
        x = inputs["inp"]
        expected[:257] = x / 2 * (1 + erf(x * root).astype(np.float64))
        return expected

    names = {"fewer digits than f64", "precision of f32"}
    assert names.intersection(answers_of("ugelu_erf_f64", "shape=[257],values=unit", gelu)) == {answer}


@pytest.mark.nightly("compares large buffers")
def test_every_mistake_can_be_tried_on_every_case() -> None:
    """Whatever the launch: with zeros in the output there is evidence of some kind, and no exception."""
    for kernel in list(SPECS.kernels.values())[::9]:
        for case in cases_for(kernel)[::5]:
            launch = launch_for(kernel, case)
            for arg in launch.args:
                if isinstance(arg, Buffer) and arg.role != "in":
                    value = arg.data[arg.start :].copy()
                    value.view(np.uint8)[:] ^= 0x55
                    evidence = evidence_of(kernel, launch, arg, value, Expected(arg.data[arg.start :]))
                    assert evidence.elements or not value.size
            evidence_of_fault(kernel, launch, "out-of-bounds read, 4 bytes past the end of it")


def outcome_of(answer, orders=("forward", "reverse"), cases=30):
    kernel = SPECS.kernels["uneg_f32"]
    trial = case_of("uneg_f32", "shape=[64],values=unit")
    several = [replace(trial) for _ in range(cases)]
    return run_cases(kernel, several, Answers(answer, orders), Judging(kernel), "run", lambda _: None)


def buffers_of(case: TrialCase, wrong: bool):
    found = {arg.name: arg.data.copy() for arg in case.launch.args if isinstance(arg, Buffer)}
    found["out"] = case.expected["out"].value.copy()
    found["out"][3] += wrong
    return found


@pytest.mark.parametrize("wrong", ["forward", "reverse"])
def test_an_answer_that_depends_on_the_order_is_known(wrong: str) -> None:
    outcome = outcome_of(lambda case, order: buffers_of(case, order == wrong), cases=1)
    assert RIGHT_IN_ANOTHER_ORDER in outcome.observations[0].evidence.answers


def test_a_kernel_that_passes_has_no_evidence() -> None:
    outcome = outcome_of(lambda case, order: buffers_of(case, False))
    assert (outcome.status, outcome.observations, outcome.passed) == ("pass", (), ())


def test_a_crash_stands_before_the_wrong_answers_and_is_always_kept() -> None:
    calls = 0

    def answer(case: TrialCase, order: str):
        nonlocal calls
        calls += 1
        if calls > KEPT_FAILURES + 2:
            raise HipError("hipModuleLaunchKernel", 700, "hipErrorIllegalAddress", "k", "at 0x0: a null pointer")
        return buffers_of(case, True)

    outcome = outcome_of(answer, orders=("forward",))
    assert outcome.status == "crash"
    assert len(outcome.failures) == KEPT_FAILURES
    assert outcome.failures[0].evidence == Evidence(fault="null pointer")
    assert sum(len(group.cases) for group in outcome.observations) == outcome.failed


def test_a_reference_that_raises_is_not_the_kernels_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("shapes differ")

    monkeypatch.setattr(trials.reference, "evaluate", broken)
    with pytest.raises(InfrastructureError, match=r"reference of uneg_f32 raised ValueError\('shapes differ'\) at "):
        case_of("uneg_f32", "shape=[64],values=unit")


LOG = """In file included from <built-in>:1:
/opt/include/simt/collectives.h:37:37: error: static assertion failed: The mask must be a 64-bit integer.
   37 |   static_assert(sizeof(Mask) == 8,
/opt/include/simt/collectives.h:103:1: note: in instantiation of function template 'checked' requested here
port/reduce.hip:3:13: note: in instantiation of function template '__shfl_xor_sync' requested here
"""


def test_an_error_in_a_header_is_told_at_the_line_that_came_there() -> None:
    assert first_error(LOG) == (
        "port/reduce.hip:3:13: error: static assertion failed: The mask must be a 64-bit integer."
    )
    assert first_error(LOG.partition("port/")[0]).startswith("/opt/include/simt/collectives.h:37:37: error: static")


def test_elements_of_one_row_share_it() -> None:
    """Else the evidence of a row of 20,000 wrong elements is a matrix of 20,000 rows."""
    kernel = load_specs().kernels["softmax_f32"]
    launch = launch_for(kernel, Case.parse("softmax_f32(shape=[3,40],values=unit)"))
    rows = rows_of(launch, kernel.launch, np.array([40, 41, 119]))
    assert rows is not None
    assert rows.values.shape == (2, 40)
    assert rows.places.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("global_load_dword of 4 bytes 0 bytes past the end of the 480-byte allocation", "read past the end"),
        ("global_load_ushort of 2 bytes 6 bytes before the 480-byte allocation", "read before the start"),
        ("global_store_b32 of 4 bytes 8 bytes past the end of the 480-byte allocation", "write past the end"),
        ("flat_atomic_add of 4 bytes 8 bytes past the end of the 480-byte allocation", "write past the end"),
        ("ds_write_b32 of 4 bytes at offset 9 of the block's 8 bytes of shared memory", "outside of shared memory"),
        ("v5 read by v_add_f32 before s_waitcnt vmcnt(0) for the global_load_dword at 0x1a1c", "missing wait"),
        ("v_mov_b32 comes 0 wait states after the v_mov_b32 at 0x1a1c, and 2 are needed where", "hazard"),
        ("scratch_load_dword of 4 bytes at offset 9 of the thread's 8 bytes of scratch memory", "outside of an array"),
    ],
)
def test_faults_of_machine_code_are_of_the_same_kinds(said: str, kind: str) -> None:
    assert fault_kind(f"hipModuleLaunchKernel returned hipErrorIllegalAddress (700) for k: kernel k: {said}") == kind


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("launch_x: hipMemset put work on the null stream, and not on the one that", "on another stream"),
        ("launch_x puts work on another stream: it is done before the stream", "on another stream"),
        ("launch_x returns with the error hipErrorInvalidConfiguration (9) pending: more", "an error pending"),
        ("launch_x: returns with the error cudaErrorInvalidValue (1) pending: invalid argument", "an error pending"),
        ("launch_x freed buffers that it was given: vy", "frees what it was given"),
        ("launch_x wrote outside of tmp_fixup: 0 bytes before and 1 bytes behind it", "outside of its scratch"),
    ],
)
def test_what_a_launcher_must_not_do_is_a_cause_of_its_own(said: str, cause: str) -> None:
    fitting = [one for one in CAUSES if fault_kind(said) in one.faults]
    assert [cause in one.title for one in fitting] == [True]
