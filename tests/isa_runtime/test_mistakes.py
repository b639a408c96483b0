"""Mistakes that kernels make on AMD GPUs, and what is legal and looks like one: 45 kernels on targets of every family.

Each stands next to one that does the same as it should be done (``mended_`` in mistakes.hip). A mistake is caught where
an order of waves faults or has another answer than that one; docs/runtimes.md says why one is not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.port.code_objects import parse
from conformance.toolchains.amd import HIPCC_KINDS, CompileFailure, find_toolchain
from conformance.toolchains.targets import targets_of
from tests.isa_runtime import corpus
from tests.isa_runtime.machine import Launched, Machine
from tests.isa_runtime.test_target_functions import compiled

SOURCE = Path(__file__).with_name("mistakes.hip")
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
ORDERS = ("forward", "reverse")
GRID, ULPS = 8, 8
RIGHT, WRONG = "right", "wrong in every order"
FIRST, SECOND = "wrong in the first order", "wrong in the second order"
UNALIGNED, ENDLESS = "an atomic access that is not aligned", "did not end in time"
MODE, OMOD = "does not know a change of the float mode", "does not know v_add_f32"
TOO_SOON = "v_mov_b32 comes 0 wait states after the v_mov_b32 at"

ROWS: dict[str, tuple[str, str]] = {  # on gfx90a and gfx942; on gfx1100 and gfx1201
    "exchange_without_barrier": (WRONG, WRONG),
    "ballot_of_32_bits": (WRONG, RIGHT),
    "popc_of_64_bits": (WRONG, RIGHT),
    "shuffle_from_32_lanes": (WRONG, RIGHT),
    "sum_of_32_lanes": (WRONG, RIGHT),
    "waves_of_64_assumed": (RIGHT, WRONG),
    "first_lane_of_64": (WRONG, RIGHT),
    "lane_bit_in_an_int": (WRONG, RIGHT),
    "shuffle_of_one_half": (WRONG, WRONG),
    "inactive_lanes_are_read": (WRONG, WRONG),
    "lockstep_across_a_branch": (WRONG, WRONG),
    "dpp_behind_its_source": (TOO_SOON, RIGHT),  # RDNA waits
    **dict.fromkeys((f"native_{name}" for name in ("sqrt", "rcp", "exp", "log", "sin", "cos")), (WRONG, WRONG)),
    "native_rcp_f64": (SECOND, SECOND),
    "native_sqrt_f64": (SECOND, SECOND),
    "float_mode": (MODE, MODE),
    "output_modifier": (WRONG, WRONG),
    "early_clobber": (WRONG, WRONG),
    "vcc_not_declared": (WRONG, RIGHT),  # the compiler has what lives long elsewhere
    "shared_memory_unwritten": (FIRST, FIRST),  # the second has zero
    "local_array_past_its_end": (RIGHT, RIGHT),  # not seen
    "store_without_wait": (SECOND, SECOND),
    "stale_scalar_cache": (SECOND, SECOND),
    "last_block_without_fence": (SECOND, SECOND),
    "flag_without_fence": (SECOND, SECOND),
    "lock_between_lanes": (ENDLESS, ENDLESS),
    "misaligned_atomic": (UNALIGNED, UNALIGNED),
    "wait_for_another_block": (RIGHT, RIGHT),
    "barrier_in_a_branch_of_waves": (RIGHT, RIGHT),  # waves that have ended are not waited for
    "barrier_in_a_branch_of_lanes": (RIGHT, RIGHT),
    "shared_memory_below_a_base": (RIGHT, RIGHT),
    "print": (RIGHT, RIGHT),
    "clamp": (RIGHT, RIGHT),
    "exchange_in_shared_memory": (RIGHT, RIGHT),
    "compare_and_swap_in_shared_memory": (RIGHT, RIGHT),
    "array_by_a_uniform_index": (RIGHT, RIGHT),
    "malloc_that_is_not_reached": (RIGHT, RIGHT),
    "load_of_16_bytes_at_8": (RIGHT, RIGHT),
}
OTHERS = {("output_modifier", "gfx1201"): OMOD}
"""Where a target differs from its family."""

Answers = dict[str, tuple[Launched, ...]]
"""By kernel, its launch in each of the orders."""


@pytest.fixture(scope="module", params=TARGETS)
def launched(request: pytest.FixtureRequest, machine: Machine) -> tuple[str, Answers]:
    code = compiled(SOURCE.name, request.param)
    kernels = tuple(parse(code, SOURCE.name).kernels)
    given, out = corpus.words_in(), np.zeros(corpus.WORDS_OUT, np.uint32)
    runs = [
        machine.launch_each(code, kernels, given, out, grid=GRID, block=corpus.BLOCK, order=order, timeout_ms=800)
        for order in ORDERS
    ]
    return request.param, {kernel: tuple(run[kernel] for run in runs) for kernel in kernels}


def same(kernel: str, got: NDArray[np.uint32], right: NDArray[np.uint32]) -> bool:
    """Whether the answers are equal, of functions of floats within ``ULPS``."""
    if not kernel.startswith("native_"):
        return np.array_equal(got, right)
    kind = np.int64 if kernel.endswith("_f64") else np.int32
    return bool((np.abs(got.view(kind) - right.view(kind)) <= ULPS).all())


@pytest.mark.slow("compiles for AMD targets and interprets the code, for each mistake")
def test_each_mistake_has_a_row(launched: tuple[str, Answers]) -> None:
    kernels = launched[1].keys()
    assert set(ROWS) | {f"mended_{kernel}" for kernel in ROWS} == kernels
    assert len(ROWS) + 2 == 45  # with those of the last two tests


@pytest.mark.slow("compiles for AMD targets and interprets the code")
@pytest.mark.parametrize("kernel", ROWS)
def test_a_mistake_is_caught_and_what_is_right_passes(launched: tuple[str, Answers], kernel: str) -> None:
    target, answers = launched
    expected = OTHERS.get((kernel, target), ROWS[kernel][not target.startswith("gfx9")])
    mended = answers[f"mended_{kernel}"]
    assert [message for failed, message, _ in mended if failed] == []
    right = mended[0][2][1]
    assert right.any()
    assert all(same(kernel, after[1], right) for _, _, after in mended)
    messages = [message for failed, message, _ in answers[kernel] if failed]
    if messages:
        assert all(expected in message for message in messages), messages
        return
    passed = [same(kernel, after[1], right) for _, _, after in answers[kernel]]
    by_order = {RIGHT: [True, True], WRONG: [False, False], FIRST: [False, True], SECOND: [True, False]}
    assert passed == by_order[expected]


def test_a_block_beyond_the_launch_bounds_is_refused(machine: Machine) -> None:
    code, words = compiled(SOURCE.name, "gfx942"), np.zeros(corpus.WORDS_OUT, np.uint32)
    _, message, _ = machine.launch_each(code, ("clamp",), words, words, block=1024)["clamp"]
    assert message == "kernel clamp: block (1024,1,1): it was compiled for at most 128 threads"


@pytest.mark.slow("compiles for AMD targets and interprets the code, for each mistake")
def test_more_shared_memory_than_there_is_is_not_compiled(machine: Machine, tmp_path: Path) -> None:
    compiled(SOURCE.name, "gfx942")  # which skips where there is no compiler
    (target,) = targets_of("gfx942")
    with pytest.raises(CompileFailure, match="65600"):
        find_toolchain([target], HIPCC_KINDS).compile(SOURCE, target, tmp_path / "out", ("-D", "TOO_LARGE"))
