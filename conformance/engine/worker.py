"""A worker process: one runtime, one device, one kernel at a time.

Started as ``python -m conformance.engine.worker SOCKET_FD PROGRESS_FD``; requests and answers are the classes of
``conformance.engine.tasks``. A kernel that brings the process down costs that kernel, not the run.
"""

from __future__ import annotations

import faulthandler
import sys
import time
import traceback
from collections.abc import Iterator
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path

from conformance.bench.measure import Bench
from conformance.bench.workload import large_launch
from conformance.build import SourceError
from conformance.device import CompileError, Device, Function, HipError
from conformance.engine.judge import from_recording, on_device, put_on_trial
from conformance.engine.library import Library
from conformance.engine.progress import Progress
from conformance.engine.recording import record
from conformance.engine.tasks import Compile, Compiled, Outcome, Ready, Refused, Setup, Time, Timed, Trial
from conformance.engine.trials import TrialCase, case_ids, generated, recorded
from conformance.replay import TraceError
from conformance.runtimes import device_count, open_runtime
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from reference import NoReference


class Worker:
    """Answers requests; see ``serve``."""

    def __init__(self, setup: Setup, progress: Progress) -> None:
        self._setup = setup
        self._progress = progress
        self._specs = load_specs(setup.specs)
        self._device: Device | None = None
        self._library: Library | None = None
        self._against: Library | None = None
        self._bench: Bench | None = None
        if setup.kernels is not None:
            runtime = open_runtime(setup.runtime, wave=setup.wave, threads=setup.threads)
            self._device = Device(runtime, setup.device % max(device_count(setup.runtime), 1))
            self._library = Library(setup.kernels, self._device, setup.options, progress.begin)
            if setup.against is not None:
                self._against = Library(setup.against, self._device, setup.against_options, progress.begin)

    def ready(self) -> Ready:
        if self._device is None:
            return Ready("none: recorded answers", "", 0, "reference on trial", "")
        description = self._device.runtime.description
        return Ready(
            self._device.name, self._device.arch, self._device.wave, description, metadata.version("hip-python")
        )

    def compile(self, request: Compile) -> Compiled:
        library = self._against if request.against else self._library
        assert library is not None
        started = time.perf_counter()
        why: str | None = None
        try:
            library.compile(request.source)
        except CompileError as error:
            why = error.log
        except (HipError, SourceError) as error:
            why = str(error)
        return Compiled(request.source, time.perf_counter() - started, why, request.against)

    def trial(self, request: Trial) -> Outcome:
        kernel = self._specs.kernels[request.kernel]
        self._progress.begin(kernel.name)
        setup = self._setup
        if self._library is None:
            assert setup.traces is not None
            cases = self._selected(recorded(kernel, setup.traces, "reference"), request.cases)
            return put_on_trial(kernel, cases, from_recording, ("recorded",), setup.command, self._progress.begin)
        assert self._device is not None
        found = self._library.find(kernel, request.broken)
        if found.function is None:
            return Outcome(kernel.name, found.status, source=found.source, message=found.message)
        if setup.traces is not None:
            cases = self._selected(recorded(kernel, setup.traces, "kernels"), request.cases)
        else:
            cases = self._generated(kernel, request.cases)
        answer = on_device(self._device, found.function)
        survives, begin = self._device.runtime.guards_memory, self._progress.begin
        if setup.parts is not None:
            outcome = record(kernel, cases, answer, setup.orders[0], setup.parts, setup.command, begin, survives)
        else:
            outcome = put_on_trial(kernel, cases, answer, setup.orders, setup.command, begin, survives)
        outcome.source = found.source
        return outcome

    def time(self, request: Time) -> Timed:
        kernel, case = self._specs.kernels[request.kernel], request.case
        assert self._device is not None
        self._progress.begin(case)
        trees: list[tuple[str, Function]] = []
        libraries = zip(("--kernels", "--against"), (self._library, self._against), request.broken, strict=False)
        for tree, library, broken in libraries:
            assert library is not None
            found = library.find(kernel, broken)
            if found.function is None:
                why = f"{found.status}: {found.message or 'no source defines it'} (the tree of {tree})"
                return Timed(kernel.name, case, error=why)
            trees.append((tree, found.function))
        self._progress.begin(case)
        try:
            if self._bench is None:
                self._bench = Bench(self._device, asynchronous=self._device.runtime.name != "cpu")
            launch = large_launch(kernel, case)
            measured = self._bench.measure(case, request.size, kernel.launch, launch, trees)
        except HipError as error:
            return Timed(kernel.name, case, error=str(error), poisoned=error.is_fault or error.is_timeout)
        except MemoryError as error:
            return Timed(kernel.name, case, error=f"the host has too little memory for its operands: {error}")
        except ValueError as error:
            return Timed(kernel.name, case, error=str(error))
        return Timed(kernel.name, case, measured)

    def _generated(self, kernel: Kernel, ids: tuple[str, ...] | None) -> Iterator[TrialCase]:
        for case_id in case_ids(kernel) if ids is None else ids:
            yield generated(kernel, case_id, self._setup.salt)

    @staticmethod
    def _selected(cases: Iterator[TrialCase], ids: tuple[str, ...] | None) -> Iterator[TrialCase]:
        return (case for case in cases if ids is None or case.id in ids)


def serve(connection: Connection, progress: Progress) -> None:
    """Take a ``Setup``, answer ``Ready`` or ``Refused``, then answer requests until the other side closes."""
    setup: Setup = connection.recv()
    try:
        worker = Worker(setup, progress)
    except (SourceError, HipError, RuntimeError, OSError, ValueError) as error:
        connection.send(Refused(str(error)))
        return
    connection.send(worker.ready())
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        try:
            if isinstance(request, Compile):
                connection.send(worker.compile(request))
            elif isinstance(request, Time):
                connection.send(worker.time(request))
            else:
                connection.send(worker.trial(request))
        except (TraceError, ValueError) as error:
            connection.send(Refused(str(error)))
        except NoReference as error:
            connection.send(Outcome(request.kernel, "not_run", message=str(error)))
        except Exception as error:  # a defect of the harness must cost one kernel, not the record
            where = traceback.extract_tb(error.__traceback__)[-1]
            why = f"the harness failed: {error!r} at {Path(where.filename).name}:{where.lineno}"
            if isinstance(request, Time):
                connection.send(Timed(request.kernel, request.case, error=why))
            else:
                connection.send(Outcome(request.kernel, "not_run", message=why))


if __name__ == "__main__":
    faulthandler.enable()
    serve(Connection(int(sys.argv[1])), Progress(int(sys.argv[2])))
