"""How launches are timed: turns, rotation, what keeps the device busy, and what an error says."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fake_device import GIB, FakeDevice, a_launch

from conformance.cases.launch import POISON_BYTE, Buffer, Launch
from conformance.engine.timing import measure
from conformance.engine.timing.measure import COLD, FEWEST, QUEUED, REPEATS, WARM_UP, Bench, Measurement
from conformance.runtimes.hip.device import Function
from conformance.runtimes.hip.errors import HipError

OURS, THEIRS = ("--kernels", Function("ours", None)), ("--against", Function("theirs", None))
EMPTY = Function("empty_kernel", None)
TAKES = {"ours": 2.0, "theirs": 3.0, "empty_kernel": 0.5}


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch):
    """``timed(device, trees)``: a measurement, with the calls of the copy that came before it forgotten."""

    def call(device: FakeDevice, *trees: Any, launch: Launch | None = None, asynchronous: bool = True) -> Measurement:
        monkeypatch.setattr(measure.time, "perf_counter", device.seconds)
        bench = Bench(device, asynchronous)  # type: ignore[arg-type]
        launch = launch or a_launch()
        bench.copy_gbps(sum(arg.data.nbytes for arg in launch.args if isinstance(arg, Buffer)))
        device.calls.clear()
        return bench.measure("twice(shape=[1024])", "small", "none", launch, trees)

    return call


def launches(device: FakeDevice) -> list[str]:
    return [name for _, name, _ in device.of("launch")]


def test_each_tree_gets_its_own_times(timed):
    measured = timed(FakeDevice(TAKES), OURS, THEIRS)
    assert [timing.milliseconds for timing in measured.timings] == [(2.0,) * REPEATS, (3.0,) * REPEATS]


def test_trees_take_turns_and_each_is_first_in_half_of_them(timed):
    device = FakeDevice(TAKES)
    timed(device, OURS, THEIRS)
    names = launches(device)[2:]  # the first of each is tried by itself
    turns = list(zip(names[::2], names[1::2], strict=True))
    assert turns[:4] == [("ours", "theirs"), ("theirs", "ours")] * 2
    assert all(first == other[::-1] for first, other in pairwise(turns))


def test_every_timed_launch_lies_between_two_events_and_nothing_else_does(timed):
    device = FakeDevice(TAKES)
    timed(device, OURS, THEIRS)
    kinds = [call[0] for call in device.calls]
    first = kinds.index("mark")
    batch = kinds[first : kinds.index("synchronize", first)]
    assert batch == ["mark", *["launch", "mark"] * QUEUED]


def test_the_device_is_held_busy_before_every_batch_and_what_follows_the_hold_is_not_timed(timed):
    device = FakeDevice(TAKES)
    timed(device, OURS, THEIRS)
    waits = [n for n, call in enumerate(device.calls) if call[0] == "synchronize"]
    batches = [device.calls[a + 1 : b] for a, b in pairwise(waits) if any(c[0] == "mark" for c in device.calls[a:b])]
    assert len(batches) == 2 * REPEATS // QUEUED + 1
    for batch in batches:
        launches_from = [call[0] for call in batch].index("launch")
        (fill, *reads), then = batch[:launches_from], batch[launches_from:]
        assert [call[0] for call in then[:3]] == ["launch", "launch", "mark"]
        assert (fill[0], fill[3]) == ("fill", COLD)
        # What the fill left in the caches is evicted by reads of twice the largest cache, and not to be written back.
        assert {call[:2] for call in reads} == {("copy", reads[0][1])}
        assert [source for _, _, source, _ in reads] == list(range(fill[1], fill[1] + COLD // 2, reads[0][3]))


def test_a_device_that_waits_for_its_launches_is_not_held(timed):
    device = FakeDevice(TAKES)
    timed(device, OURS, asynchronous=False)
    assert all(size < COLD for _, _, _, size in device.of("fill"))


def test_no_set_of_buffers_is_used_twice_between_two_holds(timed):
    device = FakeDevice(TAKES)
    timed(device, OURS, THEIRS)
    sets = [places for _, _, places in device.of("launch")][2:]  # the first of each tree is tried by itself
    assert all(len({*sets[n : n + QUEUED + 2]}) == QUEUED + 2 for n in range(len(sets) - QUEUED - 2))


@pytest.mark.parametrize("sets", range(1, 9))
def test_both_trees_come_to_use_every_set(monkeypatch, timed, sets):
    monkeypatch.setattr(measure, "COLD", sets * 8192)
    device = FakeDevice(TAKES)
    timed(device, OURS, THEIRS)
    used = {name: {places for _, own, places in device.of("launch") if own == name} for name in ("ours", "theirs")}
    assert used["ours"] == used["theirs"]
    assert sets <= len(used["ours"]) <= sets + 1


def test_what_fills_the_cache_alone_does_not_rotate(monkeypatch, timed):
    monkeypatch.setattr(measure, "COLD", 8192)
    device = FakeDevice(TAKES)
    timed(device, OURS, launch=a_launch(1024))
    assert len({places for _, _, places in device.of("launch")}) == 1


def test_every_set_has_the_operands_and_poisoned_results_in_memory_of_its_own(timed):
    device = FakeDevice(TAKES)
    timed(device, OURS)
    sets = list(dict.fromkeys(places for _, _, places in device.of("launch")))
    ((_, uploaded, size),) = device.of("upload")
    (filled,) = (call for call in device.of("fill") if call[2] == POISON_BYTE)
    copies = {to: source for _, to, source, _ in device.of("copy")}
    assert size == 4096
    assert (uploaded, filled[1]) in sets
    assert {copies.get(inp, uploaded) for inp, _ in sets} == {uploaded}
    assert {copies.get(out, filled[1]) for _, out in sets} == {filled[1]}
    places = sorted(address for pair in sets for address in pair)
    assert all(b - a >= size for a, b in pairwise(places))
    assert all(address % 256 == 0 for address in places)


def test_memory_is_given_back_and_only_the_hold_keeps_some(timed):
    device = FakeDevice(TAKES)
    timed(device, OURS)
    assert list(device.held.values()) == [COLD, 16 << 20]


def test_a_slow_kernel_is_launched_less_often(timed):
    device = FakeDevice({"ours": 10_000.0})
    measured = timed(device, OURS)
    assert len(measured.timings[0].milliseconds) == FEWEST
    assert len(launches(device)) == WARM_UP + 1 + 1 + FEWEST  # a trial, and one after the hold


def test_a_launch_that_the_clock_does_not_see_still_takes_some_time(timed):
    assert min(timed(FakeDevice({"ours": 0.0}), OURS).timings[0].milliseconds) > 0


def test_a_fault_is_that_trees(timed):
    with pytest.raises(HipError, match=r"twice<<<.*>>> of --against") as caught:
        timed(FakeDevice(TAKES, faulty="theirs"), OURS, THEIRS)
    assert caught.value.is_fault
    assert caught.value.call == "hipDeviceSynchronize"  # not that of the hipFree after it


def test_memory_that_runs_out_is_an_error_and_nothing_stays_allocated(timed):
    device = FakeDevice(TAKES, memory=COLD + (16 << 20) + 19 * 8192)
    launch = a_launch()
    more = Buffer("more", "f32", "inout", np.zeros(4096, np.float32))
    with pytest.raises(HipError, match="hipErrorOutOfMemory"):
        timed(device, OURS, launch=Launch("twice", (1, 1, 1), (1, 1, 1), 0, (*launch.args, more)))
    assert list(device.held.values()) == [COLD, 16 << 20]


@pytest.mark.parametrize(
    ("moved", "half"), [(1, 1), (8192, 4096), (8192 + 36, 4096), (11000, 4096), (12000, 8192), (GIB, GIB // 2)]
)
def test_a_copy_moves_as_much_to_the_nearest_power_of_two_and_is_measured_once(moved, half):
    device = FakeDevice()
    bench = Bench(device, asynchronous=False)  # type: ignore[arg-type]
    first = bench.copy_gbps(moved)
    assert {size for *_, size in device.of("copy")} == {half}
    device.calls.clear()
    assert bench.copy_gbps(moved) == first
    assert device.calls == []


def test_the_rate_of_a_copy_counts_what_is_read_and_written():
    bench = Bench(FakeDevice(), asynchronous=False)  # type: ignore[arg-type]
    assert bench.copy_gbps(GIB) == pytest.approx(2 * GIB / 1e6)  # a gibibyte in a millisecond


def test_what_a_kernel_takes_is_measured_with_it(timed):
    measured = timed(FakeDevice(TAKES), OURS)
    timing = measured.timings[0]
    assert (timing.registers, timing.local, timing.shared, timing.occupancy) == (32, 0, 128, 0.5)
    assert (measured.bytes, measured.operations, measured.block) == (8192, None, (1024, 1, 1))


@pytest.fixture
def with_floor(monkeypatch: pytest.MonkeyPatch):
    """A device, and ``Bench`` on it with an empty kernel."""
    device = FakeDevice(TAKES)
    monkeypatch.setattr(measure.time, "perf_counter", device.seconds)
    return device, Bench(device, asynchronous=True, empty=EMPTY)  # type: ignore[arg-type]


def shaped(grid: int, *types: str) -> Launch:
    return Launch("twice", (grid, 1, 1), (64, 2, 1), 0, a_launch().args, types)


def test_the_floor_is_an_empty_kernel_with_the_grid_and_block_of_the_first_tree(with_floor):
    device, bench = with_floor
    own = [shaped(7), shaped(9)]
    measured = bench.measure("twice(shape=[1024])", "small", "none", a_launch(), [OURS, THEIRS], own)
    assert measured.floor_ms == 0.5
    assert {shape for shape in device.shapes if shape[0] == EMPTY.name} == {(EMPTY.name, (7, 1, 1), (64, 2, 1))}


def test_the_empty_kernel_is_timed_as_kernels_are(with_floor):
    device, bench = with_floor
    device.calls.clear()
    bench.floor_ms(shaped(7))
    launched = device.calls
    device.calls = []
    bench._time([[device.prepare(EMPTY, shaped(7), {}).start]], "a kernel without buffers", [""])
    assert [call[:2] for call in launched if call[0] != "synchronize"] == [
        call[:2] for call in device.calls if call[0] != "synchronize"
    ]
    assert launches(device).count(EMPTY.name) > REPEATS


def test_each_grid_and_block_is_timed_once(with_floor):
    device, bench = with_floor
    floors = [bench.floor_ms(shaped(grid)) for grid in (7, 8, 7, 8)]
    assert floors == [0.5] * 4
    assert [grid[0] for _, grid, _ in device.shapes] == [7, 8]


def test_a_launcher_has_no_floor_for_its_grids_are_its_own(with_floor):
    device, bench = with_floor
    assert bench.floor_ms(shaped(7, "*", "*")) is None
    assert device.shapes == []


def test_without_an_empty_kernel_there_is_no_floor(timed):
    assert timed(FakeDevice(TAKES), OURS).floor_ms is None
