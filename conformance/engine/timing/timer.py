"""A timer: owns a device, loads one or two trees' kernels and times them; it judges nothing.

Started as ``python -m conformance.engine.timing.timer SOCKET_FD PROGRESS_FD PARENT_PID``. What it loads runs in this
process, for the clock of a launch must not stop at a process's border.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from conformance.cases.adapted import adapted
from conformance.cases.case import Case
from conformance.cases.geometry import launched_as
from conformance.cases.launch import Argument, Buffer, Bytes, Launch
from conformance.engine.coding import Expected
from conformance.engine.compiler import Compiler, compile_answer
from conformance.engine.executor_server import load_module
from conformance.engine.ipc import Channel, Progress
from conformance.engine.library import Library, TreeLoader
from conformance.engine.linked_launchers import Launchers
from conformance.engine.messages import Compile, Compiled, MemberKind, Ready, Setup, run_member
from conformance.engine.protocol import KernelRow
from conformance.engine.remote_executor import RemoteFunction
from conformance.engine.timing.measure import Bench, count
from conformance.engine.timing.requests import Time, Timed, TimeTrees
from conformance.engine.timing.workload import large_launch
from conformance.port.config import OPTIONS_FILE
from conformance.port.declared.adapters import adapter_of
from conformance.port.declared.geometry import geometry_of
from conformance.port.options import NO_OPTIONS
from conformance.port.sources import KernelSource
from conformance.processes import Supervisor
from conformance.processes.child import no_core_files
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.calling import Misuse
from conformance.runtimes.hip.device import Device, Function, HostModule, Module
from conformance.runtimes.hip.errors import HipError
from conformance.spec.entry import Build
from conformance.spec.kernel import Kernel
from conformance.verdict.blame import costs_device

EMPTY = KernelSource(Path(__file__).with_name("empty_kernel.hip"), Path(__file__).parent)
"""One kernel, of the file's name, that does nothing."""


class LocalLoader:
    """Loads code objects into this process, and numbers them for a ``Library``."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._modules: list[Module | HostModule] = []
        self.functions: list[Function] = []

    def load(self, code: bytes, label: str, build: Build = "kernels") -> tuple[int, Sequence[KernelRow] | None]:
        module = load_module(self._device, code, label, build)
        self._modules.append(module)
        rows = self._device.runtime.module_kernels(int(module.handle)) if isinstance(module, Module) else None
        return len(self._modules) - 1, None if rows is None else tuple(map(KernelRow.of, rows))

    def function(self, module: int, name: str) -> RemoteFunction | None:
        function = self._device.function(self._modules[module], name)
        if function is None:
            return None
        self.functions.append(function)
        return RemoteFunction(function.name, len(self.functions) - 1)


class Timer:
    """A timer: answers ``Compile`` and ``Time``."""

    def __init__(self, _: Channel, progress: Progress, setup: Setup, mode: TimeTrees, supervisor: Supervisor) -> None:
        no_core_files()
        self._progress = progress
        self._kind = kind = runtime_kind(setup.runtime)
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
        self._finders: list[dict[Build, TreeLoader]] = []
        self._adapters = [tree.declared.adapter for tree in mode.trees]
        self._geometry = [tree.declared.launch for tree in mode.trees]
        self._plain = Compiler(setup, NO_OPTIONS, supervisor, progress.begin, lambda: self.ready)
        for tree in mode.trees:
            compiler = Compiler(setup, tree.options, supervisor, progress.begin, lambda: self.ready)
            finders = (Library(tree, compiler, lambda: self._loader), Launchers(tree, compiler, lambda: self._loader))
            self._finders.append({finder.build: finder for finder in finders})

    def ahead(self) -> Iterator[None]:
        """Nothing: what is timed has the machine for itself."""
        return iter(())

    def answer(self, request: Compile | Time) -> Compiled | Timed:
        """Compile one source of a tree, or time one case. Raises ``ValueError`` for bad input."""
        if isinstance(request, Compile):
            return compile_answer(request, self._finders[request.tree][request.build].compile)
        return self._time(request)

    def _time(self, request: Time) -> Timed:
        kernel, case = request.kernel, request.case.id
        self._progress.begin(case)
        trees: list[tuple[str, Function]] = []
        assert kernel.build is not None, "bench selects no calls of a vendor's library"
        for tree, finders, broken in zip(("--kernels", "--against"), self._finders, request.broken, strict=False):
            finders["kernels"].broken.update(broken)
            function = finders[kernel.build].find(kernel)
            if function.function is None:
                why = f"{function.status}: {function.message or 'no source defines it'} (the tree of {tree})"
                return Timed(kernel.name, case, error=why)
            trees.append((tree, self._loader.functions[function.function.number]))
        try:
            if self._bench is None and self._kind.count is None:
                # What a launch costs on the host says nothing of a GPU.
                empty = self._empty_kernel() if self._kind.asynchronous else None
                self._bench = Bench(self._device, self._kind.asynchronous, empty)
            self._progress.begin(case)
            launch = large_launch(kernel, request.case).with_lanes(self.ready.wave)
            own = [self._own(number, kernel, request.case, launch) for number in range(len(trees))]
            what = (case, request.size, kernel.launch)
            if self._bench is None:
                return Timed(kernel.name, case, count(self._device, self._kind, *what, trees[0][1], own[0]))
            return Timed(kernel.name, case, self._bench.measure(*what, launch, trees, own))
        except HipError as error:
            return Timed(kernel.name, case, error=str(error), ends_member=self._poisoned(error))
        except MemoryError as error:
            return Timed(kernel.name, case, error=f"the host has too little memory for its operands: {error}")
        except (Misuse, ValueError) as error:
            return Timed(kernel.name, case, error=str(error))

    def _empty_kernel(self) -> Function | None:
        """``EMPTY``, by the compiler of the trees' sources, with none of their options."""
        module = self._device.load(self._plain.compiled(EMPTY).code, EMPTY.label)
        return self._device.function(module, EMPTY.path.stem)

    def _own(self, tree: int, kernel: Kernel, case: Case, launch: Launch) -> Launch:
        """``launch`` with the parameters and the geometry that tree number ``tree`` declares; raises ``ValueError``.

        The call of a launcher stays as it is.
        """
        if launch.types:
            return launch
        adapter = adapter_of(self._adapters[tree], kernel.name)
        if adapter is not None:
            launch = adapted(adapter, kernel, case, launch, self.ready.wave, large_launch)
            launch = replace(launch, passed=tuple(_of_tree(tree, one, launch) for one in launch.passed or ()))
        row = geometry_of(self._geometry[tree], kernel.name)
        return launch if row is None else launched_as(row, case, launch, self.ready.wave, OPTIONS_FILE)

    def _poisoned(self, error: HipError) -> bool:
        """Whether later calls of this process may fail for ``error``: on a GPU after any but a lack of memory."""
        return error.is_fault or error.is_timeout or costs_device(error, self._device.runtime.guards_memory)


def _of_tree(tree: int, one: Argument | Bytes, launch: Launch) -> Argument | Bytes:
    """An argument that only tree number ``tree`` has, by a name that no other tree's has."""
    if not isinstance(one, Buffer) or any(one.name == argument.name for argument in launch.args):
        return one
    return replace(one, name=f"tree {tree}, {one.name}")


MODES: Expected[TimeTrees] = Expected(TimeTrees)
REQUESTS: Expected[Compile | Time] = Expected(Compile, Time)


if __name__ == "__main__":
    run_member(MemberKind(Timer, MODES, REQUESTS), *map(int, sys.argv[1:]))
