"""The variables of the environment that the harness reads: a row for each, of which docs/environment.md is made.

``check`` reads every one that is set when a command starts, so that a value that means nothing is an error with the
variable's name and not silently another value. ``handed`` is what processes that run kernels get of the environment.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from conformance.errors import UserError
from conformance.reading import shortened

HARNESS = "The harness"
CPU = "The cpu runtime"
SYSTEM = "ROCm, CUDA, the system"


class EnvironmentValueError(UserError, ValueError):
    """A variable whose value cannot be used; the message names it and says what is allowed."""


@dataclass(frozen=True)
class Variable:
    """``about`` is what it is for. ``read`` makes a value of its text and raises ``ValueError`` for one that is not
    ``allowed``, which is both the page's text and the message's; without it any text is taken."""

    name: str
    section: str
    about: str
    allowed: str = ""
    read: Callable[[str], Any] = str
    default: str = ""


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return read


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    return read


def _matching(pattern: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(text)
        return text

    return read


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.1 <= value <= 86400:
        raise ValueError(text)
    return value


def _command(text: str) -> list[str]:
    args = shlex.split(text)
    if not args:
        raise ValueError(text)
    return args


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\*?", name) for name in names):
        raise ValueError(text)
    return names


def _folder(text: str) -> str:
    if os.path.lexists(text) and not os.path.isdir(text):
        raise ValueError(text)
    return text


_AMD_COMPILERS = "rocm, clang, zig"

HANG_SECONDS = "CANDLE_PARITY_HANG_SECONDS"
PERTURB = "CANDLE_PARITY_ISA_PERTURB"
PASS = "CANDLE_PARITY_PASS"
RUN_ID = "CANDLE_PARITY_RUN_ID"

VARIABLES = (
    Variable(
        "CANDLE_PARITY_CACHE",
        HARNESS,
        "the cache folder: runtime libraries, code objects, expected answers (at most 512 MiB), parsed specs, journals "
        "of `--resume`, verdicts of `--reuse`. One with files that a repository has committed is refused",
        "a folder, or a path where nothing is yet",
        _folder,
        "`.cache/candle-parity` in a checkout, else the user's cache folder",
    ),
    Variable(
        "CANDLE_PARITY_CXX",
        HARNESS,
        "the C++ compiler for the host",
        "a command line (`clang++-19`)",
        _command,
        "for kernels clang, zig's clang, g++; for the harness's own libraries clang, g++, zig's clang",
    ),
    Variable(
        "CANDLE_PARITY_AMD_COMPILER",
        HARNESS,
        "which compiler for AMD targets",
        f"one of {_AMD_COMPILERS}",
        _one_of(*_AMD_COMPILERS.split(", ")),
        "the first of these that is usable; for hipcc the first two",
    ),
    Variable(
        HANG_SECONDS,
        HARNESS,
        "after how many seconds a launch, or a judge between two cases, is stopped",
        "a number of seconds from 0.1 to 86400",
        _seconds,
        "90",
    ),
    Variable(
        "CANDLE_PARITY_ISA_ARCH",
        HARNESS,
        "the target of the isa runtime; `--arch` sets it",
        "an AMD target (gfx942)",
        _matching(r"gfx[0-9a-z-]+(:[a-z+:-]+)?"),
        "`gfx942`",
    ),
    Variable(
        PERTURB,
        HARNESS,
        "the seed by which approximate instructions deviate on the isa runtime; `--perturb` sets it",
        f"a whole number from 0 to {(1 << 32) - 1}",
        _whole(0, (1 << 32) - 1),
        "0",
    ),
    Variable(
        "CANDLE_PARITY_ISA_SITES",
        HARNESS,
        "where the isa runtime keeps what it has executed of each kernel",
        "a folder, or a path where nothing is yet",
        _folder,
        "none",
    ),
    Variable(
        PASS,
        HARNESS,
        "further variables that processes which run kernels get",
        "names with commas between them, each of letters, digits and `_`; `*` at the end stands for the rest",
        _names,
        "none",
    ),
    Variable(
        RUN_ID,
        HARNESS,
        "what a run writes into its record as `run.id`, by which `report --run-id` knows it; the CI files set it",
        "1 to 128 letters, digits, `.`, `_`, `:`, `/` and `-`",
        _matching(r"[A-Za-z0-9._:/-]{1,128}"),
        "none",
    ),
    Variable("CANDLE_PARITY_LIBCUDA", HARNESS, "the path of NVIDIA's driver library", default="`libcuda.so.1`"),
    Variable(
        "CANDLE_PARITY_BLAS",
        HARNESS,
        "cuBLAS, hipBLAS or rocBLAS, for `gemm`",
        default="the runtime's; cpu and isa have none",
    ),
    Variable("CANDLE_PARITY_RAND", HARNESS, "the same of cuRAND, hipRAND, rocRAND"),
    Variable(
        "CANDLE_PARITY_NVCC",
        HARNESS,
        "nvcc, for linked launchers",
        default="that of `PATH`, then those of CUDA toolkits",
    ),
    Variable(
        "CANDLE_PARITY_NVRTC",
        HARNESS,
        "paths of NVRTC libraries, separated by `:`",
        default="those of CUDA toolkits, then of PyPI packages",
    ),
    Variable(
        "CANDLE_PARITY_DEBUG",
        HARNESS,
        "with 1 the traceback of a defect of the harness is printed",
        "0 or 1",
        _one_of("0", "1"),
        "0",
    ),
    Variable(
        "CANDLE_PARITY_ASCII",
        HARNESS,
        "with 1 standard output and standard error are ASCII, as they are where their encoding has no other signs: "
        "`+`, `x` and `-` stand for the signs of tables, and `\\uXXXX` for characters of names and paths",
        "0 or 1",
        _one_of("0", "1"),
        "0",
    ),
    Variable(
        "CANDLE_PARITY_SUPERVISOR", HARNESS, "set by the harness in every process that it starts; not to be set by hand"
    ),
    Variable(
        "HIPCPU_WAVE",
        CPU,
        "lanes of a wave; the harness sets it for each run (`--wave`)",
        "32 or 64",
        _one_of("32", "64"),
        "64",
    ),
    Variable(
        "HIPCPU_ORDER",
        CPU,
        "the order of threads; the harness sets it for each launch (`--order`)",
        "forward, reverse or shuffle:SEED",
        _matching(r"forward|reverse|shuffle:[0-9]{1,10}"),
        "`forward`",
    ),
    Variable(
        "HIPCPU_THREADS",
        CPU,
        "operating system threads that run blocks",
        "a whole number from 1 to 24",
        _whole(1, 24),
        "the cores, at most 16",
    ),
    Variable(
        "HIPCPU_TIMEOUT_MS",
        CPU,
        "the longest launch in milliseconds of the CPU time of its threads, and 10 times as long by the clock; `0`, "
        "for none, weakens",
        "a whole number from 0 to 3600000",
        _whole(0, 3600000),
        "5000",
    ),
    Variable(
        "HIPCPU_POISON",
        CPU,
        "whether new device memory and shared memory is filled; `0` weakens",
        "0 or 1",
        _one_of("0", "1"),
        "1",
    ),
    Variable(
        "HIPCPU_GUARD",
        CPU,
        "whether allocations end at a guard page, with canaries; `0` weakens",
        "0 or 1",
        _one_of("0", "1"),
        "1",
    ),
    Variable(
        "HIPCPU_PRINT_BYTES",
        CPU,
        "how much kernels may print, in bytes",
        "a whole number from 0 to 1073741824",
        _whole(0, 1 << 30),
        "1048576",
    ),
    Variable(
        "HIPCPU_SAY",
        CPU,
        "`1`: every error of HIP is told on standard error, each once; `emulate` sets it for programs",
        "0 or 1",
        _one_of("0", "1"),
        "0",
    ),
    Variable("HIPISA_TARGET", CPU, "set by `emulate` for programs: the GPU that is emulated; runs set it themselves"),
    Variable("CANDLE_PARITY_CAPTURE", CPU, "set by `capture` for programs: the folder that launches are recorded into"),
    Variable(
        "HIPISA_DEVICES",
        CPU,
        "set by `emulate --devices` for programs: how many GPUs are emulated",
        "a whole number from 1 to 16",
        _whole(1, 16),
        "1",
    ),
    Variable("HIPCPU_CXXFLAGS", CPU, "further flags for the compiler of kernels; any weakens"),
    Variable("HIPCPU_KEEP", CPU, "set, even empty: temporary folders of the compiler stay"),
    *(
        Variable(name, CPU, "set by the harness for our `libhiprtc`; use `CANDLE_PARITY_CXX`")
        for name in ("HIPCPU_CXX", "HIPCPU_LD", "HIPCPU_INCLUDE")
    ),
    Variable(
        "HIPCPU_READS", CPU, "set by the harness for our `libhiprtc`: where it writes which files a compilation reads"
    ),
    *(
        Variable(name, CPU, "set by the harness for the libraries of the cuda runtime")
        for name in ("HIPCUDA_NVRTC", "HIPCUDA_INCLUDE")
    ),
    *(
        Variable(name, SYSTEM, "an installation of ROCm, looked into before `/opt/rocm`")
        for name in ("ROCM_PATH", "ROCM_HOME")
    ),
    Variable("HIP_PATH", SYSTEM, "another one, for compilers only"),
    Variable("HIP_DEVICE_LIB_PATH", SYSTEM, "the folder of the device libraries"),
    Variable("LD_LIBRARY_PATH", SYSTEM, "for `libamdhip64.so`, after ROCm's installations"),
    *(
        Variable(name, SYSTEM, "hides devices; `doctor` and the record say how it is set")
        for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
    ),
    Variable(
        "HSA_DISABLE_COREDUMP_ON_EXCEPTION",
        SYSTEM,
        "of ROCm; set to 1 where not set, so that a fault does not write the GPU's memory to a file",
    ),
    *(
        Variable(name, SYSTEM, "a CUDA toolkit, looked into before `/usr/local/cuda*`")
        for name in ("CUDA_HOME", "CUDA_PATH")
    ),
    Variable("NVCC_CCBIN", SYSTEM, "nvcc's compiler for the host"),
    *(
        Variable(name, SYSTEM, "further flags of nvcc, or folders with headers")
        for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "CPLUS_INCLUDE_PATH")
    ),
    Variable(
        "TMPDIR",
        SYSTEM,
        "the folder for temporary files, tried first; then the cache folder and `/tmp` (without it `/tmp` first)",
    ),
    Variable("NO_COLOR", SYSTEM, "no colours where it has a value"),
    Variable("COLUMNS", SYSTEM, "the width of tables and text; without it that of the terminal, and a log has none"),
    Variable("TERM", SYSTEM, "no colours where it is `dumb` or not set"),
)
_BY_NAME = {variable.name: variable for variable in VARIABLES}


def value_of(name: str) -> Any:
    """What the variable ``name`` of the table says; ``None`` where it is not set, or empty.

    Raises ``EnvironmentValueError``.
    """
    variable, text = _BY_NAME[name], os.environ.get(name)
    if not text:
        return None
    try:
        return variable.read(text)
    except ValueError:
        raise EnvironmentValueError(
            f"{name}={shortened(text)}: expected {variable.allowed.replace('`', '')}; unset it for the default"
        ) from None


def check() -> None:
    """Raises ``EnvironmentValueError`` for the first variable of the table with a value that cannot be used."""
    for name in _BY_NAME:
        value_of(name)


EVERYWHERE = (
    *("PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "*SAN_OPTIONS"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUTF8"),
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "ZIG_*"),
    *("CANDLE_PARITY_*", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MALLOC_*"),
)
"""What every process needs that runs kernels: to find programs, libraries, Python's packages and our cache."""


def handed(patterns: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """What of ``environment`` a process gets that runs kernels: a kernel, or the host code of a launcher, can read its
    process's environment and print it, tokens of a CI among it.

    ``patterns`` are the names that the runtime takes in addition, with ``*`` for any rest. Raises
    ``EnvironmentValueError``.
    """
    wanted, passed = (*EVERYWHERE, *patterns), value_of(PASS) or ()
    return {
        name: value
        for name, value in environment.items()
        if (_matches(name, wanted) and not _SECRET.search(name)) or _matches(name, passed)
    }


_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|(API|ACCESS|PRIVATE|AUTH|SIGNING)_?KEY", re.IGNORECASE)
"""Names of what must not be handed on though they begin as a vendor's settings do: NVIDIA_API_KEY."""


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
