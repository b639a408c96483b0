"""The right results in place of upstream's, each computed in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import reference
from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.judge import RIGHT_ANSWER, Judging
from conformance.verdict.trials import generated, generated_parts
from reference.expected import Expected

SPECS = load_specs()
ENTRIES = {**SPECS.kernels, **SPECS.launchers}
FIXABLE = {kernel.fix.name: kernel for kernel in ENTRIES.values() if kernel.fix is not None}


def answered(kernel: Kernel, launch: Launch) -> dict[str, Expected]:
    tolerance = kernel.tolerance.library_ulp
    return reference.evaluate(kernel.module, kernel.family, kernel.variant, tolerance, launch.reference_arguments())


def right(name: str, fields: str) -> tuple[dict[str, Any], NDArray[Any]]:
    """The arguments of a case of kernel ``name``, and the right content of the buffer that it writes."""
    kernel = ENTRIES[name].fixed()
    launch = launch_for(kernel, Case.parse(f"{name}({fields})"))
    expected, *_ = answered(kernel, launch).values()
    return launch.reference_arguments(), expected.value


@pytest.mark.parametrize("name", FIXABLE)
def test_a_fix_makes_a_difference(name: str) -> None:
    """In a case of its last kernel at least, or by cases that count then: else it would be named for nothing."""
    kernel = FIXABLE[name]
    if kernel.wrong_upstream:
        assert set(generated_parts(kernel.fixed()).judged) > set(generated_parts(kernel).judged)
        return
    launches = (launch_for(kernel, case) for case in cases_for(kernel) if "beyond" not in case.id)
    assert any(
        answered(kernel, launch)[buffer].value.tobytes() != expected.value.tobytes()
        for launch in launches
        for buffer, expected in answered(kernel.fixed(), launch).items()
    )
    assert kernel.fixed().as_upstream() == kernel


def test_experts_lie_one_behind_the_other() -> None:
    """As rows of a product of a matrix and a vector, task by task."""
    given, got = right("indexed_moe_forward_q8_0_q8_1", "n=4,k=512,batch=2,topk=2,experts=3,inputs=topk")
    product = SPECS.kernels["mul_mat_vec_q8_0_q8_1_cuda1"]
    rows, row_bytes = 4, 512 // 32 * 34
    for task, expert in enumerate(given["indices"]):
        start = int(expert) * rows * row_bytes
        arguments = {
            "vx": given["all_weights"][start : start + rows * row_bytes],
            "vy": given["all_inputs"][task * 512 // 32 * 36 : (task + 1) * 512 // 32 * 36],
            "dst": np.zeros(rows, np.float32),
            "ncols_x": 512,
            "nrows_x": rows,
            "nrows_y": 512,
            "nrows_dst": rows,
        }
        expected = reference.evaluate("quantized", "mmvq", product.variant, 0, arguments)["dst"].value
        assert np.array_equal(got[task * rows : (task + 1) * rows], expected)


def test_dilation_is_the_distance_of_taps() -> None:
    given, got = right("conv1d_f64", "shape=[1,1,12],cout=1,k=[3],stride=2,padding=1,dilation=3,values=unit")
    source = np.pad(given["src"][:12], 6)
    length = (12 + 2 - 3 * 2 - 1) // 2 + 1
    taps = [[source[6 - 1 + 2 * at + 3 * tap] for tap in range(3)] for at in range(length)]
    assert np.allclose(got[:length], np.array(taps) @ given["kernel"][:3], rtol=1e-14)


def test_a_mean_of_doubles_is_one() -> None:
    given, got = right("avg_pool2d_f64", "shape=[1,1,7,7],k=[7,7],stride=[1,1],values=unit")
    assert abs(got[0] - given["src"][:49].mean()) < 1e-15


def test_a_mean_of_bytes_does_not_wrap() -> None:
    given, got = right("avg_pool2d_u8", "shape=[1,1,4,6],k=[4,6],stride=[1,1],values=large")
    total = int(given["src"][:24].astype(np.int64).sum())
    assert total > 255
    assert got[0] == total // 24


def test_a_float_beyond_a_byte_is_held_at_its_ends() -> None:
    kernel = SPECS.kernels["cast_f32_u8"].fixed()
    x = np.array([300, 254.9, 255.1, -3, np.nan, np.inf, -np.inf, 1e20], np.float32)
    given = {"numel": 8, "num_dims": 1, "info": None, "inp": x, "out": np.zeros(8, np.uint8)}
    value = reference.evaluate("cast", "cast", kernel.variant, 0, given)["out"].value
    assert value.tolist() == [255, 254, 255, 0, 0, 255, 0, 255]


def test_ids_are_read_with_their_strides() -> None:
    given, got = right("is_u32_f32", "shape=[2,8,3],count=4,layout=stepped,ids=plain,values=unit")
    step = int(given["info"][1])
    assert step > 1
    chosen = given["inp"][:48].reshape(2, 8, 3)[:, given["ids"][: 3 * step + 1 : step], :]
    assert np.array_equal(got[:24], chosen.reshape(-1))


def test_the_first_of_equal_elements_is_chosen() -> None:
    given, got = right("fast_argmin_f32", "shape=[4,300],values=ties")
    assert np.array_equal(got[:4], given["src"][:1200].reshape(4, 300).argmin(axis=1))


def test_halves_of_a_mixture_of_experts_are_numbers() -> None:
    given, got = right("moe_gemm_wmma", "tokens=1,topk=1,experts=2,n=8,k=16,weights=yes,dtype=f16,prefill=yes")
    rows, expert = given["weights"].view(np.float16)[: 2 * 8 * 16].reshape(2, 8, 16), int(given["expert_ids"][0])
    terms = rows[expert].astype(np.float64) * given["input"].view(np.float16)[:16] * given["topk_weights"][0]
    expected = terms.sum(axis=1)
    # 16 additions in f32, then two roundings to f16 at most.
    bound = 16 * 2.0**-24 * np.abs(terms).sum(axis=1) + 2 * 2.0**-11 * np.abs(expected)
    assert (np.abs(got.view(np.float16)[:8] - expected) <= bound).all()


@pytest.mark.parametrize("fixed", [False, True])
def test_a_failure_is_connected_with_the_defect(fixed: bool) -> None:
    """The other result than the expected one is told for what it is; any other is not."""
    plain = SPECS.kernels["cast_f32_u8"]
    judged, other = (plain.fixed(), plain) if fixed else (plain, plain.fixed())
    (case,) = generated(judged, [Case.parse("cast_f32_u8(shape=[64],values=mid)")], "")
    buffers = {arg.name: arg.data for arg in case.launch.args if isinstance(arg, Buffer)}
    answer = answered(other, case.launch)["out"].value
    mismatch = Judging(judged).take(case, {**buffers, "out": answer})
    assert mismatch is not None
    said = "with the defect that the port declares as fixed" if fixed else 'add fixes = ["byte-saturation"]'
    assert said in mismatch.why
    assert (RIGHT_ANSWER in mismatch.evidence.answers) is not fixed
    mismatch = Judging(judged).take(case, {**buffers, "out": answer + np.uint8(1)})
    assert mismatch is not None
    assert "defect" not in mismatch.why
    right_one = replace(case, expected=answered(judged, case.launch)).expected["out"].value
    assert Judging(judged).take(case, {**buffers, "out": right_one}) is None
