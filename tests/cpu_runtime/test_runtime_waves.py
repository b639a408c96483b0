"""Collectives of a wave, for both wave sizes and every thread order."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.cpu_runtime.machine import Remote

pytestmark = [
    pytest.mark.parametrize("wave", [32, 64]),
    pytest.mark.parametrize("order", ["forward", "reverse", "shuffle:9"]),
]


@pytest.fixture(autouse=True)
def _options(machine: Remote, wave: int, order: str) -> None:
    machine.set(wave=wave, order=order)


def bits(lanes: np.ndarray) -> int:
    return int(sum(1 << int(lane) for lane in lanes))


def test_kernels_see_the_wave_size(machine: Remote, wave: int) -> None:
    (out,) = machine.good("wave_size", [np.zeros(3, np.int32)], (1,), (3,))
    assert out.tolist() == [wave] * 3


def test_a_variable_may_have_the_name_of_a_built_in_one(machine: Remote) -> None:
    (out,) = machine.good("variables_named_as_built_ins", [np.zeros(4, np.int32)], (1, 4), (1,))
    assert out.tolist() == [66, 166, 266, 366]


def test_shuffles_down_sum_each_wave(machine: Remote, wave: int) -> None:
    values = np.arange(256, dtype=np.int32) ** 2
    sums = machine.good("shuffle_down_sum", [values, np.zeros(256 // wave, np.int32)], (1,), (256,))[1]
    assert np.array_equal(sums, values.reshape(-1, wave).sum(axis=1))


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32])
def test_a_shuffle_of_a_width_stays_in_its_part_of_the_wave(machine: Remote, width: int) -> None:
    threads = 128
    (out,) = machine.good("shuffles_of_width", [np.zeros(4 * threads, np.int32), ctypes.c_int(width)], (1,), (threads,))
    lane = np.arange(threads)
    first, inside = lane // width * width, lane % width
    indexed, up, down, crossed = out.reshape(4, threads)
    assert np.array_equal(indexed, first + 3 % width)
    assert np.array_equal(up, np.where(inside >= 1, lane - 1, lane))
    assert np.array_equal(down, np.where(inside + 2 < width, lane + 2, lane))
    assert np.array_equal(crossed, lane ^ 1)


def test_a_shuffle_from_a_lane_that_is_not_there_gives_0(machine: Remote) -> None:
    (out,) = machine.good("shuffles_from_absent_lanes", [np.zeros(4 * 16, np.int32)], (1,), (16,))
    indexed, crossed, permuted, present = out.reshape(4, 16).tolist()
    assert (indexed, crossed, permuted, present) == ([0] * 16, [0] * 16, [0] * 16, [1] * 16)


def test_a_ballot_has_a_bit_for_each_lane_of_its_wave(machine: Remote, wave: int) -> None:
    threads = wave + wave // 2  # the last wave is not full
    (out,) = machine.good("ballots", [np.zeros(threads, np.uint64)], (1,), (threads,))
    for t in range(threads):
        lanes = np.arange(t // wave * wave, min(threads, (t // wave + 1) * wave))
        assert int(out[t]) == bits(lanes[lanes % 3 == 0] % wave)


def test_a_ballot_in_a_branch_is_of_the_lanes_that_are_there(machine: Remote, wave: int) -> None:
    (out,) = machine.good("ballot_of_half", [np.zeros(wave, np.uint64)], (1,), (wave,))
    lanes = np.arange(wave)
    odd, every_fourth = bits(lanes[1::2]), bits(lanes[lanes % 4 == 0])
    assert [int(v) for v in out] == [odd if t % 2 else every_fourth for t in range(wave)]


def test_collectives_with_masks_meet_in_different_places(machine: Remote, wave: int) -> None:
    (out,) = machine.good("masked_halves", [np.zeros(wave, np.uint64)], (1,), (wave,))
    for t in range(wave):
        base, lane = t // 32 * 32, t % 32
        expected = (0x5555 << base) if lane < 16 else (0xAAAA0000 << base)
        assert int(out[t]) == expected, t


def test_match_any_finds_equal_values(machine: Remote, wave: int) -> None:
    (out,) = machine.good("matches", [np.zeros(wave, np.uint64)], (1,), (wave,))
    lanes = np.arange(wave)
    assert [int(v) for v in out] == [bits(lanes[lanes % 3 == t % 3]) for t in range(wave)]


def test_syncwarp_orders_shared_memory(machine: Remote) -> None:
    (out,) = machine.good("exchange_by_syncwarp", [np.zeros(64, np.int32)], (1,), (64,))
    assert np.array_equal(out, np.arange(64) ^ 1)


def test_lanes_that_have_returned_are_not_waited_for(machine: Remote, wave: int) -> None:
    (out,) = machine.good("return_before_shuffle", [np.full(wave, -1, np.int32)], (1,), (wave,))
    lanes = np.arange(wave)
    assert np.array_equal(out, np.where(lanes % 2, -1, lanes ^ 2))


def test_lanes_that_went_apart_meet_again(machine: Remote, wave: int) -> None:
    apart, together = machine.good(
        "diverge_and_meet", [np.zeros(128, np.uint64), np.zeros(128, np.int32)], (1,), (128,)
    )
    third = np.arange(128).reshape(-1, wave) % 3 == 0
    expected = [bits(np.flatnonzero(row == row[lane])) for row in third for lane in range(wave)]
    assert [int(v) for v in apart] == expected
    assert together.tolist() == [wave] * 128


def test_lanes_that_left_a_loop_wait_behind_it(machine: Remote, wave: int) -> None:
    inside, after = machine.good("loop_and_meet", [np.zeros(wave, np.int32), np.zeros(wave, np.int32)], (1,), (wave,))
    turns = np.arange(wave) % 5
    still = [int((turns >= turn).sum()) for turn in range(5)]
    assert inside.tolist() == [sum(still[: turn + 1]) for turn in turns]
    assert after.tolist() == [wave] * wave
