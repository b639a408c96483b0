"""A timer: owns a device, loads one or two trees' kernels and times them; it judges nothing.

Started as ``python -m conformance.engine.timer SOCKET_FD PROGRESS_FD PARENT_PID``. What it loads runs in this process,
for the clock of a launch must not stop at a process's border.
"""

from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path
from typing import Any

from conformance.engine.compiling import Compiler
from conformance.engine.cores import no_core_files
from conformance.engine.library import Library
from conformance.engine.member import defect, run_member
from conformance.engine.progress import Progress
from conformance.engine.remote import Function as Numbered
from conformance.engine.remote import KernelRow
from conformance.engine.tasks import Compile, Compiled, Ready, Refused, Setup, Time, Timed, from_map, to_map
from conformance.engine.timing.measure import Bench
from conformance.engine.timing.workload import large_launch
from conformance.engine.wire import Channel
from conformance.port.options import BuildOptions
from conformance.port.sources import SourceError
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.device import Device, Function
from conformance.runtimes.hip.errors import CompileError, HipError
from conformance.spec.load import load_specs

SECONDS_TO_SET_UP = 60.0


class LocalLoader:
    """Code objects loaded into this process, by the numbers that a ``Library`` knows them by."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._modules: list[Any] = []
        self.functions: list[Function] = []

    def load(self, code: bytes, label: str) -> tuple[int, list[KernelRow] | None]:
        module = self._device.load(code, label)
        self._modules.append(module)
        rows = self._device.runtime.module_kernels(int(module.handle))
        return len(self._modules) - 1, None if rows is None else [KernelRow.model_validate(row) for row in rows]

    def function(self, module: int, name: str) -> Numbered | None:
        function = self._device.function(self._modules[module], name)
        if function is None:
            return None
        self.functions.append(function)
        return Numbered(name, len(self.functions) - 1)


class Timer:
    """Answers ``Compile`` and ``Time``; see ``serve``."""

    def __init__(self, progress: Progress, setup: Setup, supervisor: Supervisor) -> None:
        self._progress = progress
        self._specs = load_specs(setup.specs)
        kind = runtime_kind(setup.runtime)
        self._asynchronous = kind.asynchronous
        runtime = kind.open(setup.wave, setup.threads)
        self._device = device = Device(runtime, setup.device)
        self.ready = Ready(
            device.name,
            device.arch,
            device.wave,
            runtime.description,
            metadata.version("hip-python"),
            device.compiler_identity(),
            runtime.guards_memory,
        )
        self._loader = LocalLoader(device)
        self._bench: Bench | None = None
        assert setup.kernels is not None
        self._libraries: list[Library] = []

        def add(path: Path, options: BuildOptions) -> None:
            compiler = Compiler(setup, options, supervisor, progress.begin, lambda: self.ready)
            self._libraries.append(
                Library(
                    path, options, setup.runtime, compiler.compiled, lambda: self._loader, arch=lambda: self.ready.arch
                )
            )

        add(setup.kernels, setup.options)
        if setup.against is not None:
            add(setup.against, setup.against_options)

    def compile(self, request: Compile) -> Compiled:
        library = self._libraries[int(request.against)]
        started = time.perf_counter()
        error: str | None = None
        infrastructure: str | None = None
        try:
            library.compile(request.source)
        except CompileError as refused:
            error = refused.log
        except (HipError, SourceError) as refused:
            error = str(refused)
        except InfrastructureError as failed:
            infrastructure = str(failed)
        seconds = time.perf_counter() - started
        return Compiled(request.source, seconds, error, request.against, infrastructure)

    def time(self, request: Time) -> Timed:
        kernel, case = self._specs.kernels[request.kernel], request.case
        self._progress.begin(case)
        trees: list[tuple[str, Function]] = []
        for tree, library, broken in zip(("--kernels", "--against"), self._libraries, request.broken, strict=False):
            library.broken.update(broken)
            found = library.find(kernel)
            if found.function is None:
                why = f"{found.status}: {found.message or 'no source defines it'} (the tree of {tree})"
                return Timed(kernel.name, case, error=why)
            trees.append((tree, self._loader.functions[found.function.number]))
        self._progress.begin(case)
        try:
            if self._bench is None:
                self._bench = Bench(self._device, asynchronous=self._asynchronous)
            launch = large_launch(kernel, case)
            measured = self._bench.measure(case, request.size, kernel.launch, launch, trees)
        except HipError as error:
            return Timed(kernel.name, case, error=str(error), poisoned=self._poisoned(error))
        except MemoryError as error:
            return Timed(kernel.name, case, error=f"the host has too little memory for its operands: {error}")
        except ValueError as error:
            return Timed(kernel.name, case, error=str(error))
        return Timed(kernel.name, case, measured)

    def _poisoned(self, error: HipError) -> bool:
        """Whether later calls of this process may fail for ``error``: on a GPU after any but a lack of memory."""
        survives = self._device.runtime.guards_memory or error.lacks_memory
        return error.is_fault or error.is_timeout or not survives


def serve(channel: Channel, progress: Progress, supervisor: Supervisor) -> None:
    """Take a ``Setup``, answer ``Ready`` or ``Refused``, then answer requests until the other side closes."""
    setup = from_map(channel.receive(SECONDS_TO_SET_UP)[0])
    no_core_files()
    try:
        timer = Timer(progress, setup, supervisor)
    except (SourceError, HipError, RuntimeError, OSError, ValueError) as error:
        channel.send({"say": "answer", "id": 0, **to_map(Refused(str(error)))})
        return
    channel.send({"say": "answer", "id": 0, **to_map(timer.ready)})
    while True:
        message, _ = channel.receive()
        channel.send({"say": "answer", "id": message["id"], **to_map(_answer(timer, from_map(message)))})
        progress.begin("")


def _answer(timer: Timer, request: Any) -> Any:
    try:
        return timer.compile(request) if isinstance(request, Compile) else timer.time(request)
    except ValueError as error:
        return Refused(str(error))
    except Exception as error:  # a defect of the harness must cost one case, not the record
        why = defect(error)
        if isinstance(request, Compile):
            return Compiled(request.source, 0.0, None, request.against, infrastructure=why)
        return Timed(request.kernel, request.case, error=why)


if __name__ == "__main__":
    run_member(serve)
