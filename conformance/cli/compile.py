"""What ``check`` and ``build`` share: compiling a tree for AMD targets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from conformance.notices import take_warnings
from conformance.port.amd_cache import AmdCode, compile_for
from conformance.port.compiling.driver import lacked
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource, SourceError
from conformance.processes.supervisor import stop_all
from conformance.text import one_line
from conformance.toolchains.amd import AmdToolchain, CompileFailure
from conformance.toolchains.headers import NEWER, lacks_function
from conformance.toolchains.targets import AmdTarget


class Job(NamedTuple):
    """One source for one target, and what became of it: the code object, or the failure."""

    source: KernelSource
    target: AmdTarget
    result: AmdCode | CompileFailure


def compile_tree(
    toolchain: AmdToolchain,
    sources: Sequence[KernelSource],
    targets: Sequence[AmdTarget],
    options: BuildOptions,
    jobs: int,
    on_done: Callable[[Job], None] = lambda job: None,
    more: Sequence[str] = (),
) -> list[Job]:
    """Compile every source for every target, ``jobs`` at a time, through the cache. A failure takes the place of a
    result.

    ``more`` are options for the compiler besides ``options``. ``on_done`` is called for each job that has ended.
    """

    def one(source: KernelSource, target: AmdTarget) -> Job:
        try:
            job = Job(source, target, compile_for(toolchain, source, target, options, more))
        except CompileFailure as failure:
            job = Job(source, target, failure)
        except SourceError as error:
            job = Job(source, target, CompileFailure(str(error), str(error)))
        on_done(job)
        return job

    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(one, source, target) for source in sources for target in targets]
        try:
            done = [job.result() for job in waiting]
            for sentence in take_warnings():
                print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
            return done
        except BaseException:
            for job in waiting:
                job.cancel()
            stop_all()
            raise


def missing_header(job: Job, toolchain: AmdToolchain) -> str | None:
    """The header, or the functions, of a newer HIP whose absence is the only thing wrong with a source, in words; else
    ``None``."""
    if isinstance(job.result, CompileFailure):
        return lacked(toolchain, job.result.log)
    whys = [broken.why for broken in job.result.broken.values()]
    return f"{whys[0]}; {NEWER}" if whys and all(map(lacks_function, whys)) else None


def first_error(failure: CompileFailure, folder: Path) -> str:
    """The first error of ``failure``, with paths below ``folder`` relative to the folder above it."""
    return failure.first.replace(f"{folder.parent}/", "")
