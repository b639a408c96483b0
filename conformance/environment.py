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
    """A variable of the environment: a row of the table.

    ``about`` says what it is for. ``read`` turns its text into a value and raises ``ValueError`` where it cannot;
    ``allowed`` says which texts it takes, on the page and in the message. Without ``allowed`` any text is taken.
    """

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
        "the cache folder. It holds runtime libraries, code objects, expected results (at most 512 MiB), parsed specs, "
        "journals for `--resume` and verdicts for `--reuse`. A folder with files that a repository has committed is "
        "refused",
        "a folder, or a path where nothing is yet",
        _folder,
        "`.cache/candle-parity` in a checkout of candle-parity, else the user's cache folder",
    ),
    Variable(
        "CANDLE_PARITY_CXX",
        HARNESS,
        "the C++ compiler for the host",
        "a command line (`clang++-19`)",
        _command,
        "the first that is found: for kernels in the order clang, zig's clang, g++; for the harness's own libraries "
        "clang, g++, zig's clang",
    ),
    Variable(
        "CANDLE_PARITY_AMD_COMPILER",
        HARNESS,
        "which compiler makes code for AMD targets",
        f"one of {_AMD_COMPILERS}",
        _one_of(*_AMD_COMPILERS.split(", ")),
        "the first of these that works; in the place of hipcc only the first two are tried",
    ),
    Variable(
        HANG_SECONDS,
        HARNESS,
        "how many seconds a launch, or a judge between two cases, may take before it is stopped",
        "a number of seconds from 0.1 to 86400",
        _seconds,
        "90",
    ),
    Variable(
        "CANDLE_PARITY_ISA_ARCH",
        HARNESS,
        "the target of the isa runtime; `--arch` sets it too",
        "an AMD target (gfx942)",
        _matching(r"gfx[0-9a-z-]+(:[a-z+:-]+)?"),
        "`gfx942`",
    ),
    Variable(
        PERTURB,
        HARNESS,
        "the seed by which approximate instructions of the isa runtime deviate; `--perturb` sets it too",
        f"a whole number from 0 to {(1 << 32) - 1}",
        _whole(0, (1 << 32) - 1),
        "0",
    ),
    Variable(
        "CANDLE_PARITY_ISA_SITES",
        HARNESS,
        "a folder into which the isa runtime writes which instructions of each kernel it has executed. "
        "Kernels are not confined then",
        "a folder, or a path where nothing is yet",
        _folder,
        "none",
    ),
    Variable(
        PASS,
        HARNESS,
        "more variables that are passed to processes that run kernels",
        "names with commas between them, each of letters, digits and `_`; a `*` at the end stands for any rest",
        _names,
        "none",
    ),
    Variable(
        RUN_ID,
        HARNESS,
        "the name of a run. It is written into the record as `run.run_id`, and `report --run-id` accepts only records "
        "with that name. The CI files set it",
        "1 to 128 letters, digits, `.`, `_`, `:`, `/` and `-`",
        _matching(r"[A-Za-z0-9._:/-]{1,128}"),
        "none",
    ),
    Variable("CANDLE_PARITY_LIBCUDA", HARNESS, "the path of NVIDIA's driver library", default="`libcuda.so.1`"),
    Variable(
        "CANDLE_PARITY_BLAS",
        HARNESS,
        "the path of cuBLAS, hipBLAS or rocBLAS, for the library call `gemm`",
        default="that of the runtime; the cpu and isa runtimes have none",
    ),
    Variable("CANDLE_PARITY_RAND", HARNESS, "the path of cuRAND, hipRAND or rocRAND, for the library call `rand`"),
    Variable(
        "CANDLE_PARITY_NVCC",
        HARNESS,
        "the path of nvcc, which compiles linked launchers",
        default="the one in `PATH`, else those of CUDA toolkits",
    ),
    Variable(
        "CANDLE_PARITY_NVRTC",
        HARNESS,
        "the paths of NVRTC libraries, separated by `:`",
        default="those of CUDA toolkits, then of PyPI packages",
    ),
    Variable(
        "CANDLE_PARITY_DEBUG",
        HARNESS,
        "1 prints the traceback of a defect of the harness",
        "0 or 1",
        _one_of("0", "1"),
        "0",
    ),
    Variable(
        "CANDLE_PARITY_ASCII",
        HARNESS,
        "1 prints only ASCII: `+`, `x` and `-` in the place of the signs in tables, and `\\uXXXX` in the place of "
        "other characters in names and paths. This is also done where the encoding of the output has no other signs",
        "0 or 1",
        _one_of("0", "1"),
        "0",
    ),
    Variable("CANDLE_PARITY_SUPERVISOR", HARNESS, "set by the harness in every process that it starts. Do not set it"),
    Variable(
        "HIPCPU_WAVE",
        CPU,
        "the lanes of a wave. The harness sets it for each run (`--wave`)",
        "32 or 64",
        _one_of("32", "64"),
        "64",
    ),
    Variable(
        "HIPCPU_ORDER",
        CPU,
        "the order of threads. The harness sets it for each launch (`--order`)",
        "forward, reverse or shuffle:SEED",
        _matching(r"forward|reverse|shuffle:[0-9]{1,10}"),
        "`forward`",
    ),
    Variable(
        "HIPCPU_THREADS",
        CPU,
        "how many threads of the operating system run blocks",
        "a whole number from 1 to 24",
        _whole(1, 24),
        "the number of cores, at most 16",
    ),
    Variable(
        "HIPCPU_TIMEOUT_MS",
        CPU,
        "how many milliseconds a launch may take: of CPU time of each thread, and ten times as many by the clock. "
        "`0` means no limit and weakens",
        "a whole number from 0 to 3600000",
        _whole(0, 3600000),
        "5000",
    ),
    Variable(
        "HIPCPU_POISON",
        CPU,
        "1 fills new device memory and shared memory with a pattern; `0` weakens",
        "0 or 1",
        _one_of("0", "1"),
        "1",
    ),
    Variable(
        "HIPCPU_GUARD",
        CPU,
        "1 lets allocations end at a guard page, with canaries around them; `0` weakens",
        "0 or 1",
        _one_of("0", "1"),
        "1",
    ),
    Variable(
        "HIPCPU_PRINT_BYTES",
        CPU,
        "how many bytes kernels may print",
        "a whole number from 0 to 1073741824",
        _whole(0, 1 << 30),
        "1048576",
    ),
    Variable(
        "HIPCPU_SAY",
        CPU,
        "1 prints every error of HIP to standard error, each once. `emulate` sets it for programs",
        "0 or 1",
        _one_of("0", "1"),
        "0",
    ),
    Variable(
        "HIPISA_TARGET", CPU, "the GPU that is emulated. `emulate` sets it for programs, and runs set it themselves"
    ),
    Variable(
        "CANDLE_PARITY_CAPTURE", CPU, "the folder that launches are recorded into. `capture` sets it for programs"
    ),
    Variable(
        "HIPISA_TELL", CPU, "what the runtime asks for the source lines of a fault. `emulate` sets it for programs"
    ),
    Variable(
        "HIPISA_PROGRESS",
        CPU,
        "every how many seconds a program under `emulate` prints how far a launch is; 0 prints nothing",
        "a whole number from 0 to 86400",
        _whole(0, 86400),
        "0",
    ),
    Variable(
        "HIPISA_DEVICES",
        CPU,
        "how many GPUs are emulated. `emulate --devices` sets it for programs",
        "a whole number from 1 to 16",
        _whole(1, 16),
        "1",
    ),
    Variable("HIPCPU_CXXFLAGS", CPU, "more options for the compiler of kernels. Any value weakens"),
    Variable("HIPCPU_KEEP", CPU, "if it is set, even to nothing, temporary folders of the compiler are kept"),
    *(
        Variable(name, CPU, "set by the harness for our `libhiprtc`. Set `CANDLE_PARITY_CXX` instead")
        for name in ("HIPCPU_CXX", "HIPCPU_LD", "HIPCPU_INCLUDE")
    ),
    Variable(
        "HIPCPU_READS",
        CPU,
        "set by the harness: the file into which our `libhiprtc` writes the names of files that a compilation reads",
    ),
    *(
        Variable(name, CPU, "set by the harness for the libraries of the cuda runtime")
        for name in ("HIPCUDA_NVRTC", "HIPCUDA_INCLUDE")
    ),
    *(
        Variable(name, SYSTEM, "an installation of ROCm. It is tried before `/opt/rocm`")
        for name in ("ROCM_PATH", "ROCM_HOME")
    ),
    Variable("HIP_PATH", SYSTEM, "an installation of ROCm that is used for its compilers only"),
    Variable("HIP_DEVICE_LIB_PATH", SYSTEM, "the folder with the device libraries of AMD targets"),
    Variable(
        "LD_LIBRARY_PATH", SYSTEM, "folders in which `libamdhip64.so` is looked for, after the installations of ROCm"
    ),
    *(
        Variable(name, SYSTEM, "hides devices. `doctor` and the record say how it is set")
        for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
    ),
    Variable(
        "HSA_DISABLE_COREDUMP_ON_EXCEPTION",
        SYSTEM,
        "a variable of ROCm. The harness sets it to 1 if it is not set, so that a fault does not write the GPU's "
        "memory to a file",
    ),
    *(
        Variable(name, SYSTEM, "a CUDA toolkit. It is tried before `/usr/local/cuda*`")
        for name in ("CUDA_HOME", "CUDA_PATH")
    ),
    Variable("NVCC_CCBIN", SYSTEM, "the host compiler that nvcc uses"),
    *(
        Variable(name, SYSTEM, "more options for nvcc, which compiles launchers")
        for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
    ),
    *(
        Variable(name, SYSTEM, "more folders with headers, for compilers that run on this machine")
        for name in ("CPATH", "CPLUS_INCLUDE_PATH")
    ),
    Variable(
        "TMPDIR",
        SYSTEM,
        "the folder for temporary files. It is tried first, then the cache folder and `/tmp`; if it is not set, `/tmp` "
        "is tried before the cache folder",
    ),
    Variable("NO_COLOR", SYSTEM, "any value switches colours off"),
    Variable(
        "COLUMNS",
        SYSTEM,
        "the width of tables and text. Without it, the width of the terminal is used, and output that goes to a file "
        "is not wrapped",
    ),
    Variable("TERM", SYSTEM, "`dumb`, or no value, switches colours off"),
)
_BY_NAME = {variable.name: variable for variable in VARIABLES}


def value_of(name: str) -> Any:
    """The value of the variable ``name`` of the table; ``None`` where it is not set or empty.

    Raises ``EnvironmentValueError`` for a text that is not allowed.
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
    """Read every variable of the table that is set. Raises ``EnvironmentValueError`` for the first that cannot be
    used."""
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
    """The part of ``environment`` that a process gets in which kernels run.

    A kernel on the host, or a launcher, can read its process's environment and print it. So tokens of a CI stay out of
    it. ``patterns`` are names that the runtime needs besides those of the table; ``*`` stands for any text. Raises
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
