"""The process that compiles one source, started by ``conformance.port.compiling.in_child``.

``main`` reads a request (msgpack) from standard input and writes its answer to a descriptor: ``code``, ``log`` (the
source does not compile), ``memory`` (it takes too much), or ``machine`` (what else went wrong, with ``unsupported``
where its installation cannot compile the source), with ``warnings``, and ``reads``: the files that were read. A request
with a ``toolchain`` is for that compiler, any other for the hiprtc that its ``hiprtc`` opens
(``conformance.port.compiling.runtime_compiler``); one with a ``folder`` is for a compiler that works there.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgpack

from conformance.notices import take_warnings
from conformance.port.compiling.diagnostics import refused_option
from conformance.port.compiling.reads import VARIABLE, Reads, absolute_environment
from conformance.port.compiling.runtime_compiler import open_hiprtc
from conformance.processes import die_with_parent
from conformance.toolchains.compile_error import CompileError

_FILE = 1 << 30
"""Bytes of the largest file that a compiler may write, its messages among them."""

_LOG = 256 << 10


def main() -> None:
    """The program: reads a request, compiles, writes the answer."""
    die_with_parent(int(sys.argv[1]))
    request = msgpack.unpackb(sys.stdin.buffer.read())
    reads = Reads()
    answer = {**_answer(request, reads), "warnings": take_warnings(), "reads": reads.as_answer()}
    with open(int(sys.argv[2]), "wb") as file:
        file.write(msgpack.packb(answer))
    os._exit(0)  # without the destructors of a vendor's library


def _answer(request: dict[str, Any], reads: Reads) -> dict[str, Any]:
    try:
        return {"code": (_driver if request.get("toolchain") else _hiprtc)(request, reads)}
    except CompileError as error:
        return {"log": error.log[:_LOG]}
    except _UnsupportedError as error:
        return {"machine": str(error), "unsupported": True}
    except MemoryError:
        return {"memory": True}
    except (RuntimeError, OSError, ValueError) as error:
        return {"machine": str(error)}


class _UnsupportedError(RuntimeError):
    """What is wrong with the compiler's installation, not with the source: a missing header, a refused option."""


def _hiprtc(request: dict[str, Any], reads: Reads) -> bytes:
    hiprtc = open_hiprtc(request["hiprtc"], request["runtime"], request["wave"])
    flags = hiprtc.flags(request["flags"])
    _limit(request["memory"])
    _work_in(request["folder"])
    try:
        with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
            reports = Path(folder, "reads")
            reports.touch()
            os.environ[VARIABLE] = str(reports)
            try:
                return hiprtc.compile(request["text"], request["label"], flags)
            finally:
                del os.environ[VARIABLE]  # who compiles next in this process has another file, or none
                reads.add_reports(reports.read_bytes())
    except CompileError as error:
        lacks = hiprtc.missing_header(error.log, flags) or refused_option(error.log)
        raise (error if lacks is None else _UnsupportedError(lacks)) from None


def _driver(request: dict[str, Any], reads: Reads) -> bytes:
    from conformance.port.compiling.driver import compile_with, missing_header, toolchain_of
    from conformance.processes.supervisor import stop_all
    from conformance.toolchains.libraries import LibraryCompiler, lacked_of_host

    _limit(request["memory"])
    _work_in(request["folder"])
    compiler = toolchain_of(request["toolchain"])
    try:
        return compile_with(compiler, request["text"], request["label"], request["flags"], request["arch"], reads)
    except CompileError as error:
        lacks = missing_header(compiler, error.log) or refused_option(error.log)
        if lacks is None and isinstance(compiler, LibraryCompiler):
            lacks = lacked_of_host(error.log)
        raise (error if lacks is None else _UnsupportedError(lacks)) from None
    finally:
        stop_all()  # this process ends without the functions that would


def _work_in(folder: str | None) -> None:
    """Let compilers find what their options name in ``folder``; what was named relative to here stays what it is."""
    if folder is None:
        return
    os.environ.update(absolute_environment())
    for name in ("HIPCPU_CXX", "HIPCPU_LD"):  # a word a line, of which the first is the program
        program, *arguments = os.environ.get(name, "").split("\n")
        if "/" in program:
            os.environ[name] = "\n".join([os.path.abspath(program), *arguments])
    os.chdir(folder)


def _limit(memory: int) -> None:
    """Bound this process and the compilers that it starts: memory of each, files, and no core files.

    Data and not address space, of which a GPU's libraries reserve more than there is memory.
    """
    for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_FSIZE, _FILE), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))
