"""The HIP runtime library under hip-python: AMD's where there is an AMD GPU, ours for the host elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from conformance.runtimes.rocm.control import NoRocm, RocmRuntime


class Runtime(Protocol):
    """What the harness needs of a runtime besides the HIP API.

    ``library`` is the libamdhip64 that hip-python is to have opened. ``identity`` goes into the keys of the compile
    cache. ``compile_options`` go to every compilation. ``guards_memory`` says that the runtime itself catches accesses
    outside an allocation and survives them, ``on_host`` that kernels run in the process that launches them, which
    ``confine`` then confines for good.
    """

    name: str
    library: Path
    identity: str
    guards_memory: bool
    on_host: bool
    compile_options: tuple[str, ...]

    @property
    def description(self) -> str: ...

    def set_order(self, order: str) -> None: ...

    def message(self) -> str: ...

    def confine(self) -> str: ...

    def weakened(self) -> tuple[str, ...]: ...

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None: ...


class NoRuntime(RuntimeError):
    """A runtime that was asked for and is not to be had here; the message says why and what there is."""


def open_runtime(name: str, wave: int | None = None, threads: int | None = None) -> Runtime:
    """Load the runtime library into this process and have hip-python use it; ``name`` is not ``auto``.

    Raises ``NoRuntime``, ``NoCompiler`` and ``BuildError``.
    """
    try:
        if name == "cuda":
            from conformance.runtimes.cuda.control import NoCuda, open_cuda_runtime

            try:
                return open_cuda_runtime()
            except NoCuda as error:
                raise NoRuntime(
                    f"the cuda runtime cannot run: {error}; --runtime cpu runs the kernels on the host"
                ) from None
        if name == "rocm":
            return RocmRuntime()
    except NoRocm as error:
        raise NoRuntime(f"{error}; --runtime cpu runs the kernels on the host") from None
    from conformance.runtimes.cpu.control import open_cpu_runtime

    return open_cpu_runtime(wave or 64, threads)
