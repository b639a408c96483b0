"""An executor: owns a device, loads and launches what is under trial, and hands back the raw content of buffers.

Started as ``python -m conformance.engine.executor CONTROL_FD PARENT_PID``. This process never runs anything of a port:
it forks a child for that, and a fresh one whenever it is asked to, and says how each child ended. A child answers the
requests of its links (one for each judge that it serves) one at a time (``executor_server``); it has no part in any
verdict. On the cpu runtime, whose kernels are host code, it confines itself before the first code object is loaded.
What is said to whom is in ``conformance.engine.protocol``.

Without numpy, pydantic and the specs: a child should cost next to nothing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from typing import get_args

from conformance.engine.coding import decoder, receive, send
from conformance.engine.executor_server import Server
from conformance.engine.ipc import Channel, Closed, Progress
from conformance.engine.protocol import (
    OPEN_DEVICE,
    TO_HOST,
    CannotOpen,
    ExecutorEnded,
    ExecutorReady,
    OpenDevice,
    Ready,
    StartExecutor,
    ToExecutor,
)
from conformance.notices import take_warnings
from conformance.processes import die_with_parent
from conformance.processes.child import KEPT, decoded, how_ended, no_core_files, tail
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.device import CANARY_BYTES, Device
from conformance.runtimes.hip.errors import HipError

SECONDS_TO_OPEN = 30.0
"""For the first message of the process that started us."""

PRINTED = 64 * 1024
"""Bytes of a child's standard output that are handed on."""


class Template:
    """The process that forks executors and waits for their ends. The module's text describes it."""

    def __init__(self, control: Channel, opening: OpenDevice) -> None:
        self._control = control
        self._opening = opening
        self._settings = opening.settings
        self._children: dict[int, tuple[int, int, int, int]] = {}
        # A GPU's context does not survive a fork, the host's runtime does.
        self._kind = runtime_kind(self._settings.runtime)
        self._device = self._open() if self._kind.on_host else None

    def run(self) -> None:
        """Serve until the process that started this one is gone."""
        while True:
            poll = select.poll()
            poll.register(self._control.fileno(), select.POLLIN)
            for _, pidfd, _, _ in self._children.values():
                poll.register(pidfd, select.POLLIN)
            awake = {number for number, _ in poll.poll()}
            for number in [number for number, child in self._children.items() if child[1] in awake]:
                self._ended(number)
            if self._control.fileno() in awake:
                message, _, descriptors = receive(self._control, TO_HOST, descriptors=True)
                if isinstance(message, StartExecutor):
                    self._start(message.number, descriptors)
                elif message.number in self._children:
                    os.kill(self._children[message.number][0], signal.SIGKILL)

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
            ready = self._ready(device)
        except (HipError, RuntimeError, OSError, ValueError) as error:
            send(self._control, CannotOpen(number, str(error)))
            return
        send(self._control, ExecutorReady(number, ready))
        self._control.close()
        Server(device, self._kind, [Channel.adopt(link) for link in links], Progress(page)).run()

    def _open(self) -> Device:
        runtime = self._kind.open(self._settings.wave, self._opening.threads)
        return Device(runtime, self._opening.device)

    def _ready(self, device: Device) -> Ready:
        """What this child runs on; confines it where the runtime can, and last: it may not read files then."""
        runtime = device.runtime
        ready = Ready(
            device=device.name,
            arch=device.arch,
            wave=device.wave,
            description=runtime.description,
            hip_python=metadata.version("hip-python"),
            identity=device.compiler_identity(),
            guards_memory=runtime.guards_memory,
            pad=0 if runtime.guards_memory else CANARY_BYTES,
            weakened=tuple(runtime.weakened()),
            warnings=tuple(take_warnings()),
        )
        return replace(ready, sandbox=self._confined(device)) if self._kind.on_host else ready

    def _confined(self, device: Device) -> str:
        """Confine this process; what guards it, or why nothing does."""
        if not self._settings.sandbox:
            return "none: --no-sandbox"
        try:
            return device.runtime.confine()
        except RuntimeError as error:
            return f"none: {error}"

    def _ended(self, number: int) -> None:
        pid, pidfd, out, err = self._children.pop(number)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        how = how_ended(code)
        stderr, stdout = tail(err, KEPT), os.pread(out, PRINTED, 0)
        for descriptor in (pidfd, out, err):
            os.close(descriptor)
        send(self._control, ExecutorEnded(number, how, decoded(stderr), decoded(stdout)))


def main() -> None:
    """The program: ``CONTROL_FD PARENT_PID`` are its arguments."""
    gc.freeze()
    gc.enable()  # see own_module
    die_with_parent(int(sys.argv[2]))
    no_core_files()
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, signal.SIG_IGN)  # the process that started us says when to end
    control = Channel.adopt(int(sys.argv[1]))
    opening = receive(control, OPEN_DEVICE, SECONDS_TO_OPEN).message
    for kind in get_args(ToExecutor):
        decoder(kind)  # once here, and not in every child
    try:
        template = Template(control, opening)
    except (HipError, RuntimeError, OSError, ValueError) as error:
        send(control, CannotOpen(None, str(error)))
        return
    with contextlib.suppress(Closed):
        template.run()


if __name__ == "__main__":
    main()
