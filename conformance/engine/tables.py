"""Tables of the kernels in a code object: what each has for parameters, against the specs.

A table is read from the bytes that are being loaded, whatever their code would answer. Only the cuda runtime, whose
code objects no library here can read, is asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from conformance.engine.remote import KernelRow
from conformance.port.bundles import CompressedBundle
from conformance.port.code_objects import code_for
from conformance.port.signature import Given, arguments, compiled, difference
from conformance.port.sources import KernelSource, SourceError
from conformance.processes import InfrastructureError
from conformance.runtimes.cpu.table import host_kernels
from conformance.spec.kernel import Kernel
from conformance.toolchains.targets import AmdError, OtherDevice


@dataclass(frozen=True)
class Defined:
    """A kernel of a code object.

    ``difference`` tells how its parameters differ from a spec's, or ``None``; ``line`` is that of its definition in
    ``file`` (a header's path, or the source's label) and ``most_threads`` the largest block that it is built for, where
    the code object says.
    """

    difference: Callable[[Kernel], str | None]
    line: int | None = None
    file: str | None = None
    most_threads: int | None = None


Table = Mapping[str, Defined]


def amd_table(source: KernelSource, code: bytes, arch: str) -> tuple[Table, bytes]:
    """The kernels in ``code`` for a device of ``arch``, and the bytes of the code object that has them: out of an
    offload bundle, so that what is loaded is what was read.

    Raises ``SourceError``, and ``InfrastructureError`` for code that cannot be read here or is for other devices: no
    kernel's fault, and nothing was judged.
    """
    try:
        chosen, own = code_for(code, arch, source.label)
    except (CompressedBundle, OtherDevice) as error:
        raise InfrastructureError(str(error)) from None
    except AmdError as error:
        raise SourceError(str(error)) from None
    return {
        name: Defined(partial(difference, given=arguments(kernel)), most_threads=kernel.max_workgroup or None)
        for name, kernel in chosen.kernels.items()
    }, own


def host_table(source: KernelSource, code: bytes) -> Table:
    """The kernels in host code, with their types in words; raises ``SourceError``."""
    try:
        kernels = host_kernels(code)
    except ValueError as error:
        raise SourceError(f"{source.label}: {error}") from None
    return {
        kernel.name: _defined([compiled(words, size) for words, size in kernel.params], kernel.line, kernel.file)
        for kernel in kernels
    }


def reported_table(rows: Sequence[KernelRow]) -> Table:
    """The kernels as a runtime tells them."""
    return {row.name: _defined([compiled(one.type, one.size) for one in row.params], row.line) for row in rows}


def _defined(given: Sequence[Given], line: int | None, file: str | None = None) -> Defined:
    return Defined(partial(difference, given=given), line, file)
