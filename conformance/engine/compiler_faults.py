"""What is wrong with a kernel through no doing of the port: faults of compilers, device libraries and HIP's headers.

Each is told by what all failing cases have in common and, where that is not enough, by the machine code with its line
table. A kernel with one is not judged, and the reason names the compiler.
"""

from __future__ import annotations

from io import BytesIO

from elftools.elf.elffile import ELFFile

from conformance.outcome import Outcome
from conformance.port.check.early_barriers import early_barriers
from conformance.port.check.zero_sign import LLVM_ISSUE, lost_signs
from conformance.port.code_objects import DAMAGE, CodeObject, functions, parse
from conformance.port.line_tables import read_line_table
from conformance.toolchains.library_faults import header_fault, library_fault
from conformance.toolchains.targets import AmdError

SIGN_OF_ZERO = ("sign of zero",)


def fault_of_compiler(
    kernel: str, function: str, compiler: str | None, outcome: Outcome, code: bytes, late: str | None
) -> str | None:
    """The known fault of a compiler, library or header that explains every failing case of ``outcome``, in words.

    ``None`` where there is none. ``function`` is the port's name for ``kernel``, ``code`` the AMD code object that
    contains it (empty: there is none). ``late`` is set where the answer is right if stores arrive at once
    (``RuntimeKind.gentler``).
    """
    fault = library_fault(kernel, compiler, [failure.got for failure in outcome.failures])
    if fault is not None or not code or not outcome.observations:
        return fault
    try:
        machine_code = parse(code, kernel)
    except AmdError:
        return None
    return (
        header_fault(compiler, _inlined(machine_code, function), _kinds(outcome))
        or _early_barrier(machine_code, function, compiler, outcome, late)
        or _lost_sign(machine_code, function, compiler, outcome)
    )


def _name(compiler: str | None) -> str:
    """The compiler with its version, without what it was used with."""
    return (compiler or "the compiler").partition(" with ")[0]


def _kinds(outcome: Outcome) -> set[str]:
    """The kinds of all wrong elements; none where a case ended in a fault."""
    every = [one.evidence for one in outcome.observations]
    return set() if any(one.fault for one in every) else {kind for one in every for kind in one.elements}


def _inlined(code: CodeObject, function: str) -> set[str]:
    """The functions that the line table has inside ``function``."""
    try:
        places = [
            (start, start + len(body))
            for name, start, body in functions(ELFFile(BytesIO(code.elf)))
            if name == function
        ]
    except DAMAGE:
        return set()
    bodies = read_line_table(code.elf).bodies
    return {body.name for begin, end in places for body in bodies if begin <= body.begin and body.end <= end}


def _early_barrier(
    code: CodeObject, function: str, compiler: str | None, outcome: Outcome, late: str | None
) -> str | None:
    if not all(late in one.evidence.answers for one in outcome.observations):
        return None
    early = [one for one in early_barriers(code) if one.function == function]
    if not early or not all(one.from_source for one in early):
        return None
    at = f"at {early[0].place}" if early[0].place else f"at 0x{early[0].address:x}"
    return (
        f"{_name(compiler)} removed the wait for stores to shared memory (s_waitcnt lgkmcnt(0)) before the "
        f"barrier {at}: the source is right and the machine code for {code.target} is wrong, which says nothing of the "
        "port; compile it with another release"
    )


def _lost_sign(code: CodeObject, function: str, compiler: str | None, outcome: Outcome) -> str | None:
    if any(one.evidence.fault or one.evidence.elements != SIGN_OF_ZERO for one in outcome.observations):
        return None
    lost = [one for one in lost_signs(code) if one.function == function]
    if not lost:
        return None
    at = f" at {lost[0].place}" if lost[0].place else ""
    return (
        f"{_name(compiler)} rounds a product to f16 by {lost[0].mnemonic} with the addend +0{at}: that loses "
        f"the sign of zero ({LLVM_ISSUE}) and says nothing of the port; the cpu runtime shows what the source computes"
    )
