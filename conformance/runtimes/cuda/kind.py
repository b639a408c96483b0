"""The cuda runtime: the HIP API over NVIDIA's driver and NVRTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.runtimes.kind import Choice, LauncherBuild, NoRuntime, Runtime, RuntimeKind

if TYPE_CHECKING:
    from conformance.toolchains.libraries import LibraryCompiler


def _find() -> Choice:
    from conformance.runtimes.cuda.control import nvidia_devices

    count, why = nvidia_devices()
    if not count:
        raise NoRuntime(f"the cuda runtime has no GPU: {why}; --runtime cpu runs the kernels on the host")
    return Choice("cuda", tuple(range(count)))


def _open(wave: int | None, threads: int | None) -> Runtime:
    from conformance.runtimes.cuda.control import NoCuda, open_cuda_runtime

    try:
        return open_cuda_runtime()
    except NoCuda as error:
        raise NoRuntime(f"the cuda runtime cannot run: {error}; --runtime cpu runs the kernels on the host") from None


def _open_compiler(wave: int | None) -> tuple[str, ...]:
    from conformance.runtimes.cuda.build import prepare_cuda
    from conformance.runtimes.cuda.control import open_cuda_libraries

    open_cuda_libraries(prepare_cuda())
    return ()


def _launcher_compiler(arch: str) -> LibraryCompiler | str:
    from conformance.runtimes.cuda.nvcc import compiler_for

    return compiler_for(arch)


def _libraries(what: str) -> list[str]:
    from conformance.runtimes.cuda.build import vendor_candidates

    return vendor_candidates(what)


KIND = RuntimeKind(
    name="cuda",
    executed="run on an NVIDIA GPU through the cuda runtime; not executed on an AMD GPU",
    find=_find,
    open=_open,
    open_compiler=_open_compiler,
    target_flags=lambda arch: (f"--gpu-architecture={arch}",) if arch.startswith("sm_") else (),
    launchers=LauncherBuild(compiler=_launcher_compiler),
    environment=("CUDA_*", "NVIDIA_*", "CUBLAS_*", "HIPCUDA_*", "HIP_PYTHON_*"),
    libraries=_libraries,
)
