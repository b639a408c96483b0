"""An executor: owns a device, loads and launches what is under trial, and hands back the raw content of buffers.

Started as ``python -m conformance.engine.executor CONTROL_FD PARENT_PID``. This process never runs anything of a port:
it forks a child for that, and a fresh one whenever it is asked to, and says how each child ended. A child answers the
requests of its links (one for each judge that it serves) one at a time; it has no part in any verdict. On the cpu
runtime, whose kernels are host code, it confines itself before the first code object is loaded.

Without numpy, pydantic and the specs: a child should cost next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from conformance.engine.arena import Arena
from conformance.engine.cores import no_core_files
from conformance.engine.ipc import Channel, Closed, Garbled, ready
from conformance.engine.last_words import KEPT, decoded, fault_line, stderr_size, tail, words_since
from conformance.engine.leaks import Counts, Leaks
from conformance.engine.progress import Progress
from conformance.engine.scratch import Scratch, garbage
from conformance.engine.strays import check_stream
from conformance.notices import take_warnings
from conformance.processes import die_with_parent
from conformance.runtimes import RuntimeKind, runtime_kind
from conformance.runtimes.hip.calling import Misuse, PreparedCall
from conformance.runtimes.hip.device import CANARY_BYTES, Device, Prepared
from conformance.runtimes.hip.errors import HipError

SECONDS_TO_OPEN = 30.0
"""For the first message of the process that started us."""

PRINTED = 64 * 1024
"""Bytes of a child's standard output that are handed on."""

CONTEXT_LOST = 7
"""Exit code of a child whose device context did not survive a fault."""

_KEPT_ERROR = 2000


class Server:
    """Answers the requests of some judges on one device."""

    def __init__(self, device: Device, kind: RuntimeKind, links: Sequence[Channel], page: Progress) -> None:
        self._device = device
        self._kind = kind
        self._links = list(links)
        self._page = page
        self._arenas: dict[tuple[int, int], Arena] = {}
        self._modules: list[Any] = []
        self._functions: list[Any] = []
        self._blob = (0, 0)
        self._untold: set[int] = set()
        self._leaks = Leaks()
        self._launched = False

    def run(self) -> None:
        """Until every link is closed."""
        while self._links:
            busy = ready(self._links, 3600.0) if len(self._links) > 1 else self._links[:1]
            for link in busy:
                try:
                    message, descriptors = link.receive()
                    answer = self._answer(self._links.index(link), message, descriptors)
                    if answer is not None:
                        link.send(answer)
                        if answer.get("context lost"):
                            os._exit(CONTEXT_LOST)
                except (Closed, Garbled):
                    self._links.remove(link)
                    link.close()

    def _answer(self, link: int, message: Mapping[str, Any], descriptors: Sequence[int]) -> dict[str, Any] | None:
        if message["do"] == "arena":
            self._arenas[link, message["arena"]] = Arena(descriptors[0])
            return None
        self._page.begin(f"{link} {message['id']}")
        try:
            body = getattr(self, f"_{message['do']}")(link, message)
        except HipError as error:
            body = {"error": _plain(error), "context lost": self._device_is_lost(error) and error.is_fault}
        if not body.get("context lost"):  # else the others are to know that it was not they
            self._page.begin("")
        return {"id": message["id"], **body}

    def _load(self, link: int, message: Mapping[str, Any]) -> dict[str, Any]:
        arena = self._arena(link, message)
        at, size = message["at"], message["size"]
        assert arena.map is not None
        load = self._device.load_launchers if message["launchers"] else self._device.load
        module = load(arena.map[at : at + size], message["label"])
        self._modules.append(module)
        asked = self._kind.code == "opaque" and not message["launchers"]
        kernels = self._device.runtime.module_kernels(int(module.handle)) if asked else None
        return {"module": len(self._modules) - 1, "kernels": kernels}

    def _function(self, link: int, message: Mapping[str, Any]) -> dict[str, Any]:
        function = self._device.function(self._modules[message["module"]], message["name"])
        if function is None:
            return {"function": None}
        self._functions.append(function)
        return {"function": len(self._functions) - 1}

    def _launcher(self, link: int, message: Mapping[str, Any]) -> dict[str, Any]:
        function = self._device.launcher(self._modules[message["module"]], message["name"])
        if function is None:
            return {"function": None}
        self._functions.append(function)
        return {"function": len(self._functions) - 1}

    def _launch(self, link: int, message: Mapping[str, Any]) -> dict[str, Any]:
        """Launch once per order; what was in the buffers afterwards lies in the arena, order by order.

        The first fault is the last launch, unless the launch is one that has to fault in every order.
        """
        arena = self._arena(link, message)
        orders: list[dict[str, Any] | None] = []
        calls: list[PreparedCall | None] = []
        for number, order in enumerate(message["orders"]):
            self._device.runtime.set_order(order)
            written_before = stderr_size()
            self._launched = False
            try:
                calls.append(self._run(arena, message, number))
            except HipError as error:
                words = fault_line(words_since(written_before))
                orders.append({**_plain(error.with_detail(words)), "before_launch": not self._launched})
                if self._device_is_lost(error):
                    return {"orders": orders, "context lost": True}
                if not message["must_fault"]:
                    break
            except Misuse as misuse:
                orders.append({"misuse": str(misuse)[:_KEPT_ERROR]})
                break
            else:
                orders.append(None)
        if message["types"] and len(calls) == len(message["orders"]):
            lost = self._look_for_leak(link, arena, message, [call.left for call in calls if call is not None])
            if lost is not None:
                return {"orders": [*orders[:-1], _plain(lost)], "context lost": True}
        return {"orders": orders, "leak": self._leaks.known(message["function"])}

    def _look_for_leak(
        self, link: int, arena: Arena, message: Mapping[str, Any], left: list[Counts | None]
    ) -> HipError | None:
        """Whether the launcher, whose calls ``left`` this behind, leaks; the error that cost the device meanwhile."""

        def again() -> Counts | None:
            self._page.begin(f"{link} {message['id']}")
            call = self._run(arena, message, len(message["orders"]) - 1, again=True)
            return None if call is None else call.left

        try:
            self._leaks.look(message["function"], left, again)
        except HipError as error:
            return error if self._device_is_lost(error) else None
        except Misuse:
            pass  # of a call that is no case
        return None

    def _device_is_lost(self, error: HipError) -> bool:
        """Whether nothing that runs here after ``error`` can be believed: on a GPU, where every later call may fail."""
        return not (self._device.runtime.guards_memory or error.lacks_memory)

    def _run(self, arena: Arena, message: Mapping[str, Any], number: int, again: bool = False) -> PreparedCall | None:
        """Launch in order ``number``; a launcher's call. What is launched ``again`` is not read back."""
        way = self._guarded if self._device.runtime.guards_memory else self._in_one_piece
        return way(arena, message, number, again)

    def _guarded(self, arena: Arena, message: Mapping[str, Any], number: int, again: bool) -> PreparedCall | None:
        """An allocation for each buffer: the runtime itself sees an access outside of one."""
        device, taken, out = self._device, [], message["total"] * (number + 1)
        try:
            for offset, size in message["buffers"]:
                base = device.take(size)
                taken.append((base, size))
                device.write(base, arena.address(offset, size), size)
            for size in message["scratch"]:
                base = device.take(size)
                taken.append((base, size))
                device.fill(base, garbage(number), size)
            call = self._start(message, [base for base, _ in taken])
            if message["types"]:
                self._check_freed(message, taken)
            if again:
                return call
            for (base, size), (offset, _) in zip(taken, message["buffers"], strict=False):
                device.read(arena.address(out + offset, size), base, size)
            return call
        finally:
            for base, size in taken:
                device.give_back(base, size)

    def _check_freed(self, message: Mapping[str, Any], taken: list[tuple[int, int]]) -> None:
        """Raises ``Misuse`` for a launcher that freed what it was given, and leaves only the others in ``taken``."""
        freed = [number for number, (base, _) in enumerate(taken) if not self._device.is_allocated(base)]
        if freed:
            names = ", ".join(message["names"][number] for number in freed)
            taken[:] = [each for number, each in enumerate(taken) if number not in freed]
            raise Misuse(f"{message['what']} freed what it was given: {names}")

    def _in_one_piece(self, arena: Arena, message: Mapping[str, Any], number: int, again: bool) -> PreparedCall | None:
        """All buffers in one allocation, with the guard bytes that the judge put between them: one copy each way."""
        device, total = self._device, message["total"]
        out = total * (number + 1)
        if self._blob[1] < total:
            if self._blob[0]:
                device.free(self._blob[0])
                self._blob = (0, 0)
            self._blob = (device.allocate(total), total)
        base = self._blob[0]
        device.write(base, arena.address(0, total), total)
        buffers = [base + offset for offset, _ in message["buffers"]]
        scratch = [Scratch(device, size, number) for size in message["scratch"]]
        try:
            call = self._start(message, [*buffers, *(one.address for one in scratch)])
            for one, name in zip(scratch, message["names"][len(buffers) :], strict=True):
                damage = one.damage()
                if damage:
                    raise Misuse(f"{message['what']} wrote outside of {name}: {damage}")
            if again:
                return call
            device.read(arena.address(out, total), base, total)
            if call is not None and message["function"] not in self._untold:
                told = check_stream(device, call, message["what"], base, arena, total)
                self._untold |= set() if told else {message["function"]}
            return call
        finally:
            for one in scratch:
                one.give_back()

    def _start(self, message: Mapping[str, Any], bases: Sequence[int]) -> PreparedCall | None:
        """Launch and wait; a launcher's call. A slot is eight bytes, or a buffer's number with an offset in bytes."""
        slots: list[Any] = [
            slot if slot is None or isinstance(slot, bytes) else (bases[slot[0]] + slot[1]).to_bytes(8, "little")
            for slot in message["slots"]
        ]
        what = message["what"]
        function = self._functions[message["function"]]
        if message["types"]:
            call = PreparedCall(self._device, function, message["types"], slots, what)
            self._launched = True
            call.run()
            return call
        prepared = Prepared(self._device, function, message["shape"], slots, what)
        self._launched = True
        prepared.start()
        self._device.synchronize(what)
        return None

    def _arena(self, link: int, message: Mapping[str, Any]) -> Arena:
        arena = self._arenas[link, message["arena"]]
        arena.attach(message["mapped"])
        return arena


def _plain(error: HipError) -> dict[str, Any]:
    return {
        "call": error.call,
        "code": error.code,
        "name": error.name,
        "what": error.what[:_KEPT_ERROR],
        "detail": error.detail[:_KEPT_ERROR],
    }


class Template:
    """The process that forks the children and watches them; see the module's text."""

    def __init__(self, control: Channel, setup: Mapping[str, Any]) -> None:
        self._control = control
        self._setup = setup
        self._children: dict[int, tuple[int, int, int, int]] = {}
        # A GPU's context does not survive a fork, the host's runtime does.
        self._kind = runtime_kind(setup["runtime"])
        self._device = self._open() if self._kind.on_host else None

    def run(self) -> None:
        """Until the process that started us is gone."""
        while True:
            poll = select.poll()
            poll.register(self._control.fileno(), select.POLLIN)
            for _, pidfd, _, _ in self._children.values():
                poll.register(pidfd, select.POLLIN)
            awake = {number for number, _ in poll.poll()}
            for number in [number for number, child in self._children.items() if child[1] in awake]:
                self._ended(number)
            if self._control.fileno() in awake:
                message, descriptors = self._control.receive()
                if message["do"] == "start":
                    self._start(message["child"], descriptors)
                elif message["do"] == "stop" and message["child"] in self._children:
                    os.kill(self._children[message["child"]][0], signal.SIGKILL)

    def _start(self, number: int, descriptors: Sequence[int]) -> None:
        """Fork child ``number``; the first descriptor is its page of progress, the others are its links."""
        out, err = (os.memfd_create(name, os.MFD_CLOEXEC) for name in ("stdout", "stderr"))
        for file in (out, err):
            os.set_blocking(file, True)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._run_child(number, descriptors, out, err)
                code = 0
            except BaseException as error:
                with contextlib.suppress(OSError):
                    os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
            finally:
                os._exit(code)
        for descriptor in descriptors:
            os.close(descriptor)
        self._children[number] = (pid, os.pidfd_open(pid), out, err)

    def _run_child(self, number: int, descriptors: Sequence[int], out: int, err: int) -> None:
        template = os.getppid()
        die_with_parent(template)
        for file, standard in ((out, 1), (err, 2)):
            os.dup2(file, standard)
        for other in self._children.values():
            for descriptor in other[1:]:
                os.close(descriptor)
        page, *links = descriptors
        try:
            device = self._device or self._open()
            greeting = self._greeting(device)  # last: it confines this process
        except (HipError, RuntimeError, OSError, ValueError) as error:
            self._control.send({"say": "refused", "child": number, "why": str(error)})
            return
        self._control.send({"say": "ready", "child": number, **greeting})
        self._control.close()
        Server(device, self._kind, [Channel.adopt(link) for link in links], Progress(page)).run()

    def _open(self) -> Device:
        setup = self._setup
        runtime = self._kind.open(setup["wave"], setup["threads"])
        return Device(runtime, setup["device"])

    def _greeting(self, device: Device) -> dict[str, Any]:
        """What this child runs on; confines it where the runtime can."""
        runtime = device.runtime
        greeting: dict[str, Any] = {
            "device": device.name,
            "arch": device.arch,
            "wave": device.wave,
            "description": runtime.description,
            "hip_python": metadata.version("hip-python"),
            "identity": device.compiler_identity(),
            "guards_memory": runtime.guards_memory,
            "pad": 0 if runtime.guards_memory else CANARY_BYTES,
            "weakened": list(runtime.weakened()),
            "warnings": take_warnings(),
            "sandbox": None,
        }
        if self._kind.on_host:
            try:
                greeting["sandbox"] = runtime.confine() if self._setup["sandbox"] else "none: --no-sandbox"
            except RuntimeError as error:
                greeting["sandbox"] = f"none: {error}"
        return greeting

    def _ended(self, number: int) -> None:
        pid, pidfd, out, err = self._children.pop(number)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        words, printed = tail(err, KEPT), os.pread(out, PRINTED, 0)
        for descriptor in (pidfd, out, err):
            os.close(descriptor)
        self._control.send(
            {"say": "ended", "child": number, "how": how, "words": decoded(words), "printed": decoded(printed)}
        )


def main() -> None:
    die_with_parent(int(sys.argv[2]))
    no_core_files()
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, signal.SIG_IGN)  # the process that started us says when to end
    control = Channel.adopt(int(sys.argv[1]))
    setup, _ = control.receive(SECONDS_TO_OPEN)
    try:
        template = Template(control, setup)
    except (HipError, RuntimeError, OSError, ValueError) as error:
        control.send({"say": "refused", "child": None, "why": str(error)})
        return
    with contextlib.suppress(Closed):
        template.run()


if __name__ == "__main__":
    main()
