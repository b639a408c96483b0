"""Code objects of our kernels in which words are changed, and the isa runtime that launches them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from conformance.engine.executor_client import Launching
from conformance.engine.messages import Setup
from conformance.engine.remote_executor import Lost
from conformance.files import kernels_folder
from conformance.port.amd_cache import compile_for
from conformance.port.line_tables import LineTable, read_line_table
from conformance.port.options import NO_OPTIONS
from conformance.port.sources import find_sources
from conformance.processes import InfrastructureError
from conformance.runtimes import choose
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.isa.kind import ARCH, KIND, LINES, SITES
from conformance.spec.kernel import Kernel
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import targets_of
from conformance.verdict.judge import Judging
from conformance.verdict.loop import run_cases
from conformance.verdict.trials import TrialCase
from tests.isa_runtime.machine import ENCODINGS, Machine
from tests.selftest.machine_operators import Instruction, Mutant
from tests.selftest.port import Held

LOADED = 100
"""Code objects that an executor loads before there is a new one."""

Answer = tuple[str, str]
"""What became of a case: ``pass``, ``answer`` (a wrong one), ``report`` (a fault that the interpreter names),
``time-out``, ``not run`` (it has nothing to write) or ``not viable``; and what is said of it."""


def kernel_code(code: bytes, kernel: str) -> tuple[bytes, slice, int]:
    """A code object whose only code is that of ``kernel``, all of it where it was; where this code is in the file, and
    what is to be added for where it is in memory."""
    elf = ELFFile(BytesIO(code))
    symbols = elf.get_section_by_name(".dynsym")
    assert isinstance(symbols, SymbolTableSection)
    found = symbols.get_symbol_by_name(kernel)
    assert found is not None
    (symbol,) = found
    number = next(n for n, section in enumerate(elf.iter_sections()) if section.name == ".text")
    text = elf.get_section(number)
    distance = text["sh_addr"] - text["sh_offset"]
    header = elf["e_shoff"] + number * elf["e_shentsize"]
    address, size = symbol["st_value"], symbol["st_size"]
    trimmed = bytearray(code)
    struct.pack_into("<QQQ", trimmed, header + 16, address, address - distance, size)
    return bytes(trimmed), slice(address - distance, address - distance + size), distance


@cache
def lines(module: str, target: str) -> LineTable:
    """The lines of a module's machine code."""
    return read_line_table(compiled(module, target))


@cache
def compiled(module: str, target: str) -> bytes:
    """The code object of a module, through the cache."""
    (wanted,) = targets_of(target)
    source = next(one for one in find_sources(kernels_folder().resolve()) if one.path.stem == module)
    return compile_for(find_toolchain([wanted], HIPCC_KINDS), source, wanted, NO_OPTIONS, LINES).code


class IsaPort(Held):
    """Code objects on the isa runtime, its executor in the hands of this process; ``sites`` is a folder for what they
    execute."""

    def __init__(self, target: str, sites: Path | None = None) -> None:
        with _environment({ARCH: target, SITES: str(sites or "")}):
            super().__init__(Setup(runtime="isa", orders=KIND.default_orders, choice=choose("isa")))
            self.renew()

    def renew(self) -> None:
        """A fresh executor."""
        self._start()
        self._loaded = 0

    def load(self, code: bytes, kernel: str) -> Answer | None:
        """Have ``kernel`` of a code object run from now on; why it cannot."""
        if self._loaded == LOADED:
            self.renew()
        self._loaded += 1
        try:
            function = self._executor.function(self._executor.load(code, kernel)[0], kernel)
        except HipError as error:
            return "not viable", str(error)
        except Lost as lost:
            self.renew()
            return "report", f"{lost.kind}: {lost}"
        assert function is not None
        self._function = function
        return None

    def judge(self, kernel: Kernel, case: TrialCase) -> Answer:
        """What becomes of ``case``; the executor is another one afterwards where it was lost."""
        launching = Launching(self._executor, self._function, KIND.default_orders, False, True)
        try:
            ahead = launching.ahead([case])
            outcome = run_cases(kernel, ahead, launching.answers, Judging(kernel), "", lambda _: None)
            self._executor.drain()
        except Lost as lost:
            self.renew()
            return "time-out" if lost.kind == "silent" else "report", str(lost)
        except InfrastructureError as error:
            self.renew()
            return "report", str(error)
        why = outcome.failures[0].why if outcome.failures else outcome.message or ""
        if "the interpreter does not know" in why:
            return "not viable", why
        kinds = {"crash": "report", "timeout": "time-out", "not_run": "not run"}
        return ("pass", "") if outcome.status == "pass" else (kinds.get(outcome.status, "answer"), why)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


def instructions_of(machine: Machine, target: str, code: bytes, at: int) -> list[Instruction]:
    """What ``code``, which lies at ``at`` in memory, decodes to; ``?`` where it is no instruction."""
    found = []
    for offset, words, encoding, name, *_ in machine.decoded(target, code):
        place, count = int(offset), int(words)
        if place + 4 * count <= len(code):
            row = struct.unpack_from(f"<{count}I", code, place)
            found.append(Instruction(at + place, ENCODINGS[int(encoding)], name, row))
    return found


def is_instruction(machine: Machine, mutant: Mutant) -> bool:
    """Whether the words of a mutant are one instruction, or as many s_nop."""
    decoded = machine.decoded(mutant.target, struct.pack(f"<{len(mutant.words)}I", *mutant.words))
    return all(line[3] != "?" for line in decoded) and sum(int(line[1]) for line in decoded) == len(mutant.words)
