"""Times launches on a device: two trees' kernels in turn, each launch between two events.

What is measured of a launch is the time from the end of the launch before it to its own end, on the device's clock.
The device must not wait for the host meanwhile: ``_Hold`` keeps it busy while launches are queued. Buffers rotate, so
that no launch finds its operands in the cache. Where a runtime counts instructions and memory, a launch is counted once
and not timed (``count``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log2
from statistics import median

from conformance.cases.launch import POISON_BYTE, Buffer, Launch, Stream
from conformance.engine.timing.workload import bytes_moved, operations
from conformance.outcome import Row
from conformance.runtimes.hip.calling import PreparedCall
from conformance.runtimes.hip.device import Device, Function, FunctionResources, argument_bytes, describe
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.kind import LaunchCounts, RuntimeKind

WARM_UP = 3
"""Launches of each tree before the first that counts."""

REPEATS = 30
FEWEST = 3
SECONDS = 0.5
"""Device time that a workload may take per tree beyond the fewest repeats."""

COLD = 1 << 30
"""Bytes after which nothing is in a cache any more: four times the last level of the largest (256 MiB on an MI300X,
which reports its L2 alone)."""

QUEUED = 16
"""Launches between two holds."""

ALIGNMENT = 256
"""Bytes, as an allocation of its own has it."""

SHORTEST = 1e-6
"""Milliseconds that a launch takes at least: a clock may not see it at all."""


@dataclass(frozen=True)
class Timing:
    """The launches of one tree's kernel: the milliseconds of each, in order, and what the kernel needs.

    ``registers`` and ``local`` (scratch, in bytes) are those of a thread, ``shared`` is the static shared memory of a
    block in bytes.
    """

    milliseconds: tuple[float, ...]
    registers: int
    local: int
    shared: int
    occupancy: float
    """Threads on a multiprocessor over the most that it holds."""


@dataclass(frozen=True)
class Measurement:
    """One case, timed for each tree in turn. ``bytes`` and ``operations`` are the least that the launch has to move and
    compute."""

    case: str
    size: str
    bytes: int
    operations: int | None
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    copy_gbps: float
    """A copy on the device that moves as many bytes, read and written together, in the same rotation."""
    timings: tuple[Timing, ...]
    floor_ms: float | None = None
    """Milliseconds of an empty kernel with the first tree's grid and block; ``None`` where none was launched."""


@dataclass(frozen=True)
class Counted:
    """One case that was launched once and counted.

    ``bytes`` is the least that the launch has to move. ``elements`` are those of its largest buffer.
    """

    case: str
    size: str
    bytes: int
    elements: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counts: LaunchCounts


class Loss(Row):
    """Cases of a kernel that could not be timed, and why."""

    kernel: str
    cases: tuple[str, ...] = ()
    why: str


class Bench:
    """Times launches on ``device``.

    ``asynchronous`` says that launches return before the device is done. ``empty`` is a kernel without parameters that
    does nothing; without it no floor is measured.
    """

    def __init__(self, device: Device, asynchronous: bool, empty: Function | None = None) -> None:
        self._device, self._empty = device, empty
        self._events = [device.event() for _ in range(QUEUED + 1)]
        self._hold = _Hold(device) if asynchronous else None
        self._copies: dict[int, float] = {}
        self._floors: dict[tuple[object, object], float] = {}

    def copy_gbps(self, moved: int) -> float:
        """The rate of a copy on the device, in 10^9 bytes per second, that reads and writes ``moved`` bytes together,
        to the nearest power of two."""
        half = 1 << max(round(log2(moved)) - 1, 0)
        if half not in self._copies:
            with _rotating(self._device, [half, half], _sets(2 * half)) as places:
                starts = [partial(self._device.copy, to, source, half) for to, source in places]
                (times,) = self._time([starts], "a copy on the device", [""])
            self._copies[half] = 2 * half / median(times) / 1e6
        return self._copies[half]

    def floor_ms(self, launch: Launch) -> float | None:
        """The milliseconds of an empty kernel with the grid and block of ``launch``; ``None`` for a launcher, which
        chooses its own."""
        shape = (launch.grid, launch.block)
        if self._empty is None or launch.types:
            return None
        if shape not in self._floors:
            empty = Launch(self._empty.name, *shape, 0, ())
            (times,) = self._time([[self._device.prepare(self._empty, empty, {}).start]], describe(empty), [""])
            self._floors[shape] = median(times)
        return self._floors[shape]

    def measure(
        self,
        case: str,
        size: str,
        family: str,
        launch: Launch,
        trees: Sequence[tuple[str, Function]],
        own: Sequence[Launch] = (),
    ) -> Measurement:
        """Time ``launch`` with the function of each tree in turn. ``trees`` has a name for errors, and the function.

        ``own`` has the launch of each tree where their geometry or arguments differ. Raises ``HipError`` where a launch
        fails or there is too little memory.
        """
        moved = bytes_moved(family, launch)
        pairs = list(zip(trees, own or [launch] * len(trees), strict=True))
        first = pairs[0][1]
        copy, floor = self.copy_gbps(moved), self.floor_ms(first)
        with _operands(self._device, [launch, *own], _sets(moved)) as named:
            start = partial(start_of, self._device, asynchronous=self._hold is not None)
            starts = [[start(function, mine, at) for at in named] for (_, function), mine in pairs]
            times = self._time(starts, describe(launch), [f" of {name}" for name, _ in trees])
        timings = tuple(
            self._timing(taken, function, mine) for taken, ((_, function), mine) in zip(times, pairs, strict=True)
        )
        counted = operations(family, launch)
        return Measurement(case, size, moved, counted, first.grid, first.block, copy, timings, floor)

    def _timing(self, times: Sequence[float], function: Function, launch: Launch) -> Timing:
        # Nothing is known of a host function.
        taken = FunctionResources(0, 0, 0, 0) if launch.types else self._device.resources(function, launch)
        threads = taken.blocks * launch.block[0] * launch.block[1] * launch.block[2]
        share = threads / max(self._device.threads_per_multiprocessor, 1)
        return Timing(tuple(times), taken.registers, taken.local, taken.shared, share)

    def _time(self, trees: Sequence[Sequence[Start]], what: str, of: Sequence[str]) -> list[list[float]]:
        """Milliseconds of each launch, per tree. A tree gives a start for each set of buffers; ``of`` ends ``what``."""
        launches = 0

        def turn() -> Iterator[int]:
            """Launch each tree once, each on the next set, and yield which; the order alternates."""
            nonlocal launches
            order = range(len(trees))
            for k in order if launches // len(trees) % 2 == 0 else reversed(order):
                trees[k][launches % len(trees[k])]()
                launches += 1
                yield k

        for (first, *_), whose in zip(trees, of, strict=True):  # each by itself, so that a fault is that tree's
            try:
                first()
                self._device.synchronize(what)
            except HipError as error:
                raise HipError(error.call, error.code, error.name, what + whose, error.detail) from None
        for _ in range(WARM_UP - 1):
            list(turn())
        self._device.synchronize(what)
        began = time.perf_counter()
        list(turn())
        self._device.synchronize(what)
        seconds = (time.perf_counter() - began) / len(trees)
        repeats = int(min(max(SECONDS / max(seconds, 1e-9), FEWEST), REPEATS))
        times: list[list[float]] = [[] for _ in trees]
        while len(times[0]) < repeats:
            if self._hold is not None:
                self._hold.start()
                list(turn())  # pays for writing back what the hold left in the cache
            order: list[int] = []
            self._device.mark(self._events[0])
            for _ in range(min(QUEUED // len(trees), repeats - len(times[0]))):
                for k in turn():
                    order.append(k)
                    self._device.mark(self._events[len(order)])
            self._device.synchronize(what)
            for k, pair in zip(order, pairwise(self._events), strict=False):
                times[k].append(max(self._device.milliseconds(*pair), SHORTEST))
        return times


@contextmanager
def _rotating(device: Device, sizes: Sequence[int], sets: int) -> Iterator[list[tuple[int, ...]]]:
    """``sets`` sets of buffers of ``sizes`` bytes: the addresses of each set."""
    # Whole multiples, so that an allocation which ends at a guard page begins aligned as well.
    steps = [-(-max(size, 1) // ALIGNMENT) * ALIGNMENT for size in sizes]
    slabs: list[int] = []
    try:
        for step in steps:
            slabs.append(device.allocate(step * sets))
        yield [tuple(slab + n * step for slab, step in zip(slabs, steps, strict=True)) for n in range(sets)]
    finally:
        for slab in slabs:
            with suppress(HipError):  # after a fault every call fails; the first error is the one to report
                device.free(slab)


@contextmanager
def _operands(device: Device, launches: Iterable[Launch], sets: int) -> Iterator[list[dict[str, int]]]:
    """``sets`` sets of the buffers of ``launches``, filled: the address of each buffer in each set, by name."""
    every: dict[str, Buffer] = {}
    for launch in launches:
        every = {**launch.buffers, **every}
    buffers = list(every.values())
    with _rotating(device, [buffer.data.nbytes for buffer in buffers], sets) as places:
        first, *others = places
        for k, buffer in enumerate(buffers):
            size = buffer.data.nbytes
            if buffer.role in ("out", "scratch"):
                device.fill(first[k], POISON_BYTE, size)
            else:
                device.upload(first[k], buffer.data)
            for place in others:
                device.copy(place[k], first[k], size)
        device.synchronize("operands")
        yield [{buffer.name: at for buffer, at in zip(buffers, place, strict=True)} for place in places]


def _sets(moved: int) -> int:
    """How many sets of buffers rotate: an odd number, so that each of two trees comes to use every set.

    More than are launched between two holds, which empty the cache themselves, would be no colder.
    """
    return min(-(-COLD // moved), QUEUED + 2) | 1


class _Hold:
    """Keeps the device busy for over a millisecond, and leaves nothing else in its caches, and little to write back."""

    MILLISECONDS = 1.0
    SINK = 16 << 20
    """Bytes that a copy writes: smaller ones take the host longer to queue than the device to make (on an H100)."""
    READ = COLD // 2
    """Bytes that copies read: twice the last level of the largest cache."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._address, self._sink = device.allocate(COLD), device.allocate(self.SINK)
        first, last = device.event(), device.event()
        device.fill(self._address, 0, COLD)
        device.mark(first)
        device.fill(self._address, 0, COLD)
        device.mark(last)
        device.synchronize()
        self._fills = max(1, round(self.MILLISECONDS / max(device.milliseconds(first, last), 1e-3)))

    def start(self) -> None:
        for _ in range(self._fills):
            self._device.fill(self._address, 0, COLD)
        # What fills leave in the caches is to be written back, for which short launches would pay: evict it by reads.
        for offset in range(0, self.READ, self.SINK):
            self._device.copy(self._sink, self._address + offset, self.SINK)


Start = Callable[[], None]


def start_of(
    device: Device, function: Function, launch: Launch, addresses: Mapping[str, int], asynchronous: bool
) -> Start:
    """The function that starts ``launch``, with the allocation of each buffer at ``addresses[name]``.

    Where launches are ``asynchronous``, it starts on the null stream, which is the one that is timed. Elsewhere a call
    of a launcher ends before it returns, and raises ``Misuse`` for what a launcher must not do.
    """
    if not launch.types:
        return device.prepare(function, launch, addresses).start
    filled = zip(launch.args, argument_bytes(launch, addresses), strict=True)
    slots = [slot if asynchronous or not isinstance(argument, Stream) else None for argument, slot in filled]
    call = PreparedCall(device, function, launch.types, slots, launch.kernel)
    return call.start if asynchronous else call.run


def count(
    device: Device, kind: RuntimeKind, case: str, size: str, family: str, function: Function, launch: Launch
) -> Counted:
    """Launch once and count, with operands that lie as allocations on a GPU do. Raises ``HipError`` where the launch
    fails."""
    assert kind.count is not None
    with _operands(device, [launch], 1) as (places,):
        prepared = device.prepare(function, launch, places)

        def launched() -> None:
            prepared.start()
            device.synchronize(prepared.what)

        counts = kind.count(device.runtime, launched)
    elements = max((len(argument.data) for argument in launch.args if isinstance(argument, Buffer)), default=1)
    return Counted(case, size, bytes_moved(family, launch), max(elements, 1), launch.grid, launch.block, counts)
