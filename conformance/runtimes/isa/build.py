"""What the isa runtime's libraries are built from: the interpreter, and what it shares with the cpu runtime."""

from __future__ import annotations

from pathlib import Path

from conformance.runtimes.cpu.build import HERE as CPU
from conformance.runtimes.cpu.build import INCLUDE, Plan

HERE = Path(__file__).resolve().parent

_SHARED = (
    *("error", "memory", "options", "memory_api", "stream_api", "common_api", "device_api"),
    *("host_access", "stream_order", "print_text"),
    *("sandbox", "sandbox_filter", "sandbox_handler"),
)
"""Sources of the cpu runtime: errors, the device, its memory, streams and events are those of the host, and so is the
sandbox for the host code of launchers."""

HOST_CODE = CPU / "host_code"
"""Sources of what programs and libraries with host code call, over the kernels of either runtime on the host."""

_HEADERS = (
    *("error.h", "bits.h", "memory.h", "options.h", "api.h", "canary.h", "hipcpu.h", "host_device.h", "launch.h"),
    *("descriptor.h", "sandbox.h", "sandbox_calls.inc", "sandbox_handler.h", "host_access.h", "stream_order.h"),
    *("print_text.h", "launch_time.h"),
)

_VECTOR = ("avx2", "bmi2", "f16c", "fma")
_TUNED = "-mtune=haswell"
_STRICT = ("-fno-strict-aliasing", "-ffp-contract=off", "-fno-math-errno")


def isa_plan() -> Plan:
    """What to build for the isa runtime: ``libamdhip64`` with the interpreter, and a ``libhiprtc`` that compiles
    nothing."""
    shared = tuple(CPU / "runtime" / f"{name}.cpp" for name in _SHARED)
    headers = tuple(CPU / "runtime" / name for name in _HEADERS)
    return Plan(
        runtime="isa",
        sources={"libamdhip64.so": (HERE / "runtime", HOST_CODE, *shared), "libhiprtc.so": (HERE / "hiprtc",)},
        flags=(f"-I{HERE / 'runtime'}", f"-I{CPU / 'runtime'}", f"-I{HOST_CODE}", f"-I{INCLUDE}"),
        headers=(
            *headers,
            *(INCLUDE / "simt" / name for name in ("attributes.inc", "errors.inc", "properties.h")),
            HERE / "runtime",
            HOST_CODE,
        ),
        options=(*_STRICT, *vector_instructions()),
    )


def vector_instructions() -> tuple[str, ...]:
    """The compiler's options for the vector instructions that this processor has, because lanes are arrays in the
    interpreter.

    For plain x86-64-v2 compilers split every access of 32 bytes in two, which was good for processors without AVX2.
    """
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ()
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), [])
    return (*(f"-m{name}" for name in _VECTOR), _TUNED) if set(_VECTOR) <= set(flags) else ()
