"""The rocm runtime: AMD's own libraries on an AMD GPU."""

from __future__ import annotations

from conformance.runtimes.kind import BY_HIPCC, Choice, NoRuntime, Runtime, RuntimeKind
from conformance.runtimes.rocm.control import NoRocm, RocmRuntime
from conformance.runtimes.rocm.devices import nodes, of_one_architecture, probed, visible
from conformance.runtimes.rocm.hiprtc import folder_flags, missing_header, without_comgr
from conformance.runtimes.rocm.search import installations, vendor_candidates


def _find() -> Choice:
    found = installations()
    answer = probed()
    if not answer.devices:
        signs = (
            [f"there is {found[0].hip}"] if found and found[0].rtc is not None else []
        )  # else: headers to compile with
        signs += [f"there is {node}" for node in nodes() if node.path.name == "kfd"]
        raise NoRuntime(
            f"no AMD GPU can be used: {answer.why}; --runtime cpu runs the kernels on the host",
            sign=f"{' and '.join(signs)}, but {answer.why}" if signs else None,
        )
    used, rest = of_one_architecture(answer.devices)
    return Choice(
        "rocm",
        tuple(device.ordinal for device in used),
        tuple(map(str, rest)),
        library=str(found[0]),
        others=tuple(map(str, found[1:])),
        hip=answer.hip or None,
        driver=answer.driver or None,
        emulator=answer.emulator or None,
        visible=tuple(f"{name}={value}" for name, value in visible().items()),
    )


def _open(wave: int | None, threads: int | None) -> Runtime:
    try:
        return RocmRuntime()
    except NoRocm as error:
        raise NoRuntime(f"{error}; --runtime cpu runs the kernels on the host") from None


def _target_flags(arch: str) -> tuple[str, ...]:
    """The language too, which is C++14 in ROCm 6 and C++17 in ROCm 7."""
    return ("-std=c++17", *((f"--offload-arch={arch}",) if arch else ()))


KIND = RuntimeKind(
    name="rocm",
    executed="executed on an AMD GPU through the ROCm runtime",
    find=_find,
    open=_open,
    open_compiler=lambda wave: RocmRuntime().compile_options,
    code="amd",
    chooses_compiler=True,
    takes_dialect=False,
    target_flags=_target_flags,
    compile_flags=folder_flags,
    readable_log=without_comgr,
    missing_header=missing_header,
    launchers=BY_HIPCC,
    environment=(
        *("HIP_*", "HIPRTC_*", "ROCM_*", "ROC_*", "ROCR_*", "HSA_*", "GPU_*", "AMD_*", "AMDGPU_*"),
        *("ROCBLAS_*", "HIPBLAS*_*", "TENSILE_*", "ROCRAND_*", "ROCP_*", "ROCPROFILER_*", "CUDA_VISIBLE_DEVICES"),
        *("HIPISA_*", "HIPCPU_*"),  # of `emulate`, whose libamdhip64 stands in for AMD's
    ),
    libraries=vendor_candidates,
)
