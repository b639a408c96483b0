"""What a forked executor does for its judges: it loads code, launches, and looks for what a launcher does wrong.

Without numpy and pydantic, as all of an executor.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never, cast

from conformance.engine.coding import receive, send
from conformance.engine.guarded_launch import GuardedLaunch, filled
from conformance.engine.ipc import Arena, Channel, Closed, Garbled, Progress, ready
from conformance.engine.protocol import (
    KEPT_TEXT,
    TO_EXECUTOR,
    CallFound,
    CodeLoaded,
    DeviceError,
    Failed,
    FindCall,
    FindFunction,
    FromExecutor,
    FunctionFound,
    KernelRow,
    LaunchEnds,
    LoadCode,
    Misused,
    RunLaunch,
    ShareArena,
    ToExecutor,
)
from conformance.processes.child import fault_line, stderr_size, words_since
from conformance.runtimes import RuntimeKind
from conformance.runtimes.hip.calling import Misuse, PreparedCall
from conformance.runtimes.hip.device import CANARY, CANARY_BYTES, Device, Function, HostModule, Module, Prepared
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.hip.matrix_products import Products, open_products
from conformance.runtimes.hip.random_numbers import Generators, open_generators
from conformance.runtimes.hip.vendor_library import NoLibrary
from conformance.spec.entry import Build
from conformance.verdict.blame import costs_device

if TYPE_CHECKING:
    from conformance.runtimes.kind import ReservingRuntime

CONTEXT_LOST = 7
"""Exit code of a child whose device context did not survive a fault."""


def load_module(device: Device, code: bytes, label: str, build: Build) -> Module | HostModule:
    """Load ``code``, which the source ``label`` was compiled to. Raises ``HipError``."""
    load: Mapping[Build, Callable[[bytes, str], Module | HostModule]] = {
        "kernels": device.load,
        "launchers": device.load_launchers,
    }
    return load[build](code, label)


class Server:
    """Answers the requests of some judges on one device, one request at a time."""

    def __init__(self, device: Device, kind: RuntimeKind, links: Sequence[Channel], page: Progress) -> None:
        self._device = device
        self._kind = kind
        self._links = list(links)
        self._page = page
        self._arenas: dict[tuple[int, int], Arena] = {}
        self._modules: list[Module | HostModule] = []
        self._functions: list[Any] = []
        self._blob = (0, 0)
        self._streams_unknown: set[int] = set()
        self._leaks = Leaks()
        self._launched = False
        self._context_lost = False
        self._libraries: dict[str, Products | Generators] = {}

    def run(self) -> None:
        """Serve until every link is closed."""
        while self._links:
            busy = ready(self._links, 3600.0) if len(self._links) > 1 else self._links[:1]
            for link in busy:
                try:
                    message, number, descriptors = receive(link, TO_EXECUTOR, descriptors=True)
                    index = self._links.index(link)
                    if isinstance(message, ShareArena):
                        self._arenas[index, message.arena] = Arena(descriptors[0])
                    else:
                        send(link, self._answer(index, number, message), number)
                except (Closed, Garbled):
                    self._links.remove(link)
                    link.close()
                if self._context_lost:
                    os._exit(CONTEXT_LOST)

    def _answer(self, link: int, number: int, message: ToExecutor) -> FromExecutor:
        self._page.begin(f"{link} {number}")
        try:
            answer = self._do(link, number, message)
        except HipError as error:
            self._context_lost = self._device_is_lost(error) and error.is_fault
            answer = Failed(DeviceError.of(error))
        if not self._context_lost:  # else the others are to know that it was not they
            self._page.begin("")
        return answer

    def _do(self, link: int, number: int, message: ToExecutor) -> FromExecutor:
        match message:
            case RunLaunch():
                return self._launch(link, number, message)
            case LoadCode():
                return self._load(link, message)
            case FindFunction():
                return self._function(message)
            case FindCall():
                return self._call(message)
        assert_never(message)

    def _load(self, link: int, message: LoadCode) -> CodeLoaded:
        arena = self._arena(link, message)
        module = load_module(self._device, arena.map[: message.size], message.label, message.build)
        self._modules.append(module)
        asked = self._kind.code == "opaque" and isinstance(module, Module)
        rows = self._device.runtime.module_kernels(int(module.handle)) if asked else None
        return CodeLoaded(len(self._modules) - 1, None if rows is None else tuple(map(KernelRow.of, rows)))

    def _function(self, message: FindFunction) -> FunctionFound:
        module = self._modules[message.module]
        function = self._device.function(module, message.name)
        if function is None:
            return FunctionFound(None, None)
        self._functions.append(function)
        knows = self._kind.unwritten and isinstance(module, Module)
        shared = self._device.static_shared(function) if knows else None
        return FunctionFound(len(self._functions) - 1, shared)

    def _call(self, message: FindCall) -> CallFound:
        """The function that makes a call of the vendor's library, and that library."""
        what, opens = ("rand", open_generators) if message.name.startswith("rand") else ("blas", open_products)
        try:
            if what not in self._libraries:
                self._libraries[what] = opens(self._kind.libraries(what))
        except NoLibrary as error:
            return CallFound(None, str(error)[:KEPT_TEXT])
        library = self._libraries[what]
        self._functions.append(Function(message.name, library.call(message.name)))
        return CallFound(len(self._functions) - 1, library.about[:KEPT_TEXT])

    def _launch(self, link: int, number: int, message: RunLaunch) -> LaunchEnds:
        """Launch once per order; what was in the buffers afterwards lies in the arena, order by order.

        The first fault is the last launch, unless the launch is one that has to fault in every order. Orders that
        cannot differ from those before are ``untold``.
        """
        arena = self._arena(link, message)
        ends: list[DeviceError | Misused | None] = []
        calls: list[PreparedCall | None] = []
        untold = 0
        both = message.orders[:2] == ("forward", "reverse")
        simple = not (message.types or message.scratch or any(message.pieces))
        may_skip = both and simple and not message.must_fault
        once = GuardedLaunch(self._device, self._functions[message.function], arena, message)
        simple = simple and self._device.runtime.guards_memory
        for at, order in enumerate(message.orders):
            if at == 2 and may_skip and not self._device.runtime.order_matters():
                untold = len(message.orders) - at
                break
            self._device.runtime.set_order(order)
            written_before = stderr_size()
            self._launched = False
            try:
                if simple:
                    once.run(at)
                else:
                    calls.append(self._run(arena, message, at))
            except HipError as error:
                fault = fault_line(words_since(written_before))
                before = not (self._launched or once.launched)
                ends.append(DeviceError.of(error.with_detail(fault), before))
                if self._device_is_lost(error):
                    self._context_lost = True
                    return LaunchEnds(tuple(ends), 0, None, "")
                if not message.must_fault:
                    break
            except Misuse as misuse:
                ends.append(Misused(str(misuse)[:KEPT_TEXT]))
                break
            else:
                ends.append(None)
        once.give_back()
        if message.types and len(calls) == len(message.orders):
            left = [call.left for call in calls if call is not None]
            lost = self._look_for_leak(link, number, arena, message, left)
            if lost is not None:
                self._context_lost = True
                return LaunchEnds((*ends[:-1], DeviceError.of(lost)), 0, None, "")
        leak = self._leaks.known(message.function)
        return LaunchEnds(tuple(ends), untold, leak, self._device.runtime.misaligned()[:KEPT_TEXT])

    def _look_for_leak(
        self, link: int, number: int, arena: Arena, message: RunLaunch, left: list[Counts | None]
    ) -> HipError | None:
        """Whether the launcher, whose calls ``left`` this behind, leaks; the error that cost the device meanwhile."""

        def again() -> Counts | None:
            self._page.begin(f"{link} {number}")
            call = self._run(arena, message, len(message.orders) - 1, again=True)
            return None if call is None else call.left

        try:
            self._leaks.look(message.function, left, again)
        except HipError as error:
            return error if self._device_is_lost(error) else None
        except Misuse:
            pass  # of a call that is not a case
        return None

    def _device_is_lost(self, error: HipError) -> bool:
        return costs_device(error, self._device.runtime.guards_memory)

    def _run(self, arena: Arena, message: RunLaunch, number: int, again: bool = False) -> PreparedCall | None:
        """Launch in order ``number``; a launcher's call. What is launched ``again`` is not read back."""
        if any(message.pieces):
            self._with_gaps(arena, message, number)
            return None
        way = self._guarded if self._device.runtime.guards_memory else self._in_one_piece
        return way(arena, message, number, again)

    def _with_gaps(self, arena: Arena, message: RunLaunch, number: int) -> None:
        """A kernel's launch with buffers of which some have gaps: only their pieces are copied."""
        device, out = self._device, message.total * (number + 1)
        bases: list[int] = []
        copies: list[tuple[int, int, int]] = []
        try:
            for (offset, size), pieces in zip(message.buffers, message.pieces, strict=True):
                base = self._reserve(pieces) if pieces else device.allocate(size)
                bases.append(base)
                copies += [(offset + at, base + place, count) for at, count, place in pieces or [(0, size, 0)]]
            for at, address, count in copies:
                device.write(address, arena.address(at, count), count)
            self._start(message, bases)
            for at, address, count in copies:
                device.read(arena.address(out + at, count), address, count)
        finally:
            for base in bases:
                device.free(base)

    def _reserve(self, pieces: Sequence[tuple[int, int, int]]) -> int:
        """Address space that reaches to the end of the last of ``pieces``."""
        _, count, place = pieces[-1]
        runtime = cast("ReservingRuntime", self._device.runtime)
        return runtime.reserve(place + count, [(place, count) for _, count, place in pieces])

    def _guarded(self, arena: Arena, message: RunLaunch, number: int, again: bool) -> PreparedCall | None:
        """An allocation for each buffer: the runtime itself sees an access outside of one."""
        device, taken, out = self._device, [], message.total * (number + 1)
        try:
            for offset, size in message.buffers:
                base = device.take(size)
                taken.append((base, size))
                device.write(base, arena.address(offset, size), size)
            for size in message.scratch:
                base = device.take(size)
                taken.append((base, size))
                device.fill(base, garbage(number), size)
            call = self._start(message, [base for base, _ in taken])
            if message.types:
                self._check_freed(message, taken)
            if again:
                return call
            for (base, size), (offset, _) in zip(taken, message.buffers, strict=False):
                device.read(arena.address(out + offset, size), base, size)
            return call
        finally:
            for base, size in taken:
                device.give_back(base, size)

    def _check_freed(self, message: RunLaunch, taken: list[tuple[int, int]]) -> None:
        """Raises ``Misuse`` for a launcher that freed what it was given, and leaves only the others in ``taken``."""
        freed = [number for number, (base, _) in enumerate(taken) if not self._device.is_allocated(base)]
        if freed:
            names = ", ".join(message.names[number] for number in freed)
            taken[:] = [each for number, each in enumerate(taken) if number not in freed]
            raise Misuse(f"{message.what} freed buffers that it was given: {names}")

    def _in_one_piece(self, arena: Arena, message: RunLaunch, number: int, again: bool) -> PreparedCall | None:
        """All buffers in one allocation, with the guard bytes that the judge put between them: one copy each way."""
        device, total = self._device, message.total
        out = total * (number + 1)
        if self._blob[1] < total:
            if self._blob[0]:
                device.free(self._blob[0])
                self._blob = (0, 0)
            self._blob = (device.allocate(total), total)
        base = self._blob[0]
        device.write(base, arena.address(0, total), total)
        buffers = [base + offset for offset, _ in message.buffers]
        scratch = [Scratch(device, size, number) for size in message.scratch]
        try:
            call = self._start(message, [*buffers, *(one.address for one in scratch)])
            for one, name in zip(scratch, message.names[len(buffers) :], strict=True):
                damage = one.damage()
                if damage:
                    raise Misuse(f"{message.what} wrote outside of {name}: {damage}")
            if again:
                return call
            device.read(arena.address(out, total), base, total)
            if call is not None and message.function not in self._streams_unknown:
                seen = check_stream(device, call, message.what, base, arena, total)
                self._streams_unknown |= set() if seen else {message.function}
            return call
        finally:
            for one in scratch:
                one.give_back()

    def _start(self, message: RunLaunch, bases: Sequence[int]) -> PreparedCall | None:
        """Launch and wait; a launcher's call. A slot is eight bytes, or a buffer's number with an offset in bytes."""
        slots = filled(message, bases)
        what = message.what
        function = self._functions[message.function]
        if message.types:
            call = PreparedCall(self._device, function, message.types, slots, what)
            self._launched = True
            call.run()
            return call
        prepared = Prepared(self._device, function, message.shape, slots, what)
        self._launched = True
        prepared.start()
        self._device.synchronize(what)
        return None

    def _arena(self, link: int, message: LoadCode | RunLaunch) -> Arena:
        arena = self._arenas[link, message.arena]
        arena.attach(message.mapped)
        return arena


AGAIN = 16
"""Calls more of the same case, each of which has to leave something behind: fewer may be fillings of a pool."""

Counts = tuple[int, ...]


class Leaks:
    """The launchers of this process that leave something behind at every call, by the number of the function."""

    def __init__(self) -> None:
        self._found: dict[int, Counts] = {}

    def known(self, function: int) -> Counts | None:
        """How many calls of one case each left something behind, and the least that any of them left. ``None`` where
        none is known to."""
        return self._found.get(function)

    def look(self, function: int, left: list[Counts | None], again: Callable[[], Counts | None]) -> None:
        """Call a launcher ``again``, as long as every call of the case has ``left`` something behind.

        A launcher that fills a pool, or keeps what it has allocated, soon leaves nothing more behind; one that leaks
        goes on. Errors of ``again`` are raised.
        """
        first = len(left)
        if function in self._found:
            return
        try:
            while left_by_each(left) is not None and len(left) < first + AGAIN:
                left.append(again())
        finally:
            each = left_by_each(left)
            if each is not None and len(left) > first:
                self._found[function] = (len(left), *each)


def left_by_each(calls: Sequence[Counts | None]) -> Counts | None:
    """The least that any of ``calls`` left behind; ``None`` if one of them left nothing, or it is not known what it
    left."""
    known = [call for call in calls if call is not None]
    if not known or len(known) < len(calls):
        return None
    least = tuple(max(0, min(numbers)) for numbers in zip(*known, strict=True))
    return least if any(least) else None


_GARBAGE = (0xFF, 0x7B, 0xFB)
"""What scratch is filled with, in turns: NaN and -1, then large numbers of either sign, in every type. Nothing of it
vanishes in a sum, and not all of it in a maximum."""


def garbage(number: int) -> int:
    """The value of every byte of scratch memory before launch ``number`` of a case, so that no launch can rely on
    it."""
    return _GARBAGE[number % len(_GARBAGE)]


class Scratch:
    """Scratch memory for launch ``number`` of a case: ``size`` bytes of garbage, at ``address``, with guards.

    Raises ``HipError`` where the device has no room.
    """

    def __init__(self, device: Device, size: int, number: int) -> None:
        self._device, self._size = device, size
        self._base = device.take(size + 2 * CANARY_BYTES)
        self.address = self._base + CANARY_BYTES
        device.fill(self._base, CANARY, size + 2 * CANARY_BYTES)
        device.fill(self.address, garbage(number), size)

    def damage(self) -> str:
        """How many guard bytes were overwritten, in words; empty where none was."""
        before, after = self._overwritten(self._base), self._overwritten(self.address + self._size)
        return f"{before} bytes before and {after} bytes behind it" if before or after else ""

    def give_back(self) -> None:
        """Keep the allocation for the next scratch memory of its size."""
        self._device.give_back(self._base, self._size + 2 * CANARY_BYTES)

    def _overwritten(self, address: int) -> int:
        guard = ctypes.create_string_buffer(CANARY_BYTES)
        self._device.read(ctypes.addressof(guard), address, CANARY_BYTES)
        return CANARY_BYTES - guard.raw.count(CANARY)


def check_stream(device: Device, call: PreparedCall, what: str, base: int, arena: Arena, total: int) -> bool:
    """Call the launcher ``what`` once more while its stream is held; returns whether the runtime can hold one.

    Its buffers lie at ``base`` and take ``total`` bytes, with what is between them. The first bytes of ``arena`` have
    their content before a call. Raises ``Misuse`` if a buffer changes before the stream is released, and ``HipError``.
    """
    before = ctypes.string_at(arena.address(0, total), total)
    now = ctypes.create_string_buffer(total)

    def changed() -> bool:
        device.read(ctypes.addressof(now), base, total)
        return now.raw != before

    device.write(base, arena.address(0, total), total)
    strays = call.strays(changed)
    if strays:
        raise Misuse(
            f"{what} launches on another stream, which does not wait for the stream that the launcher "
            "was given; launch on that one"
        )
    return strays is not None
