"""Which HIP an installation's headers are of, and the functions that only newer ones have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from conformance.reading import own_yaml, read_bytes
from conformance.toolchains.search import release

OF_ROCM = frozenset(
    f"hip/{name}.h"
    for name in (
        *("channel_descriptor", "device_functions", "driver_types", "hip_bf16", "hip_bfloat16", "hip_common"),
        *("hip_complex", "hip_cooperative_groups", "hip_ext", "hip_ext_ocp", "hip_fp16", "hip_fp4", "hip_fp6"),
        *("hip_fp8", "hip_math_constants", "hip_runtime", "hip_runtime_api", "hip_texture_types", "hip_vector_types"),
        *("hip_version", "hiprtc", "library_types", "linker_types", "math_functions", "surface_types"),
        "texture_types",
    )
)
"""Headers of the package hip-dev, by the names that sources include them by."""

HEADER_PACKAGES = "ROCm's package hip-dev (Debian: libamdhip64-dev)"

GET = "`candle-parity toolchain --get hip-7.2`"
"""The command that brings the headers and device libraries of the newest HIP of hip_releases.yaml."""

NEWER_ROCM = "this says nothing of the port: install a newer ROCm, or name its folder in ROCM_PATH"
NEWER = f"this says nothing of the port: {GET} brings newer headers; or install a newer ROCm, or name it in ROCM_PATH"

_FUNCTIONS = Path(__file__).with_name("hip_functions.yaml")
_VERSION = re.compile(r"^#define HIP_VERSION_(MAJOR|MINOR) +(\d+)", re.MULTILINE)
_ROOT, _FOLDER = "--rocm-path=", "-isystem"
_ERROR = re.compile(r"\berror: ")
_NAME = re.compile(
    r"error: (?:no matching function for call to|use of undeclared identifier|call to function"
    r"|no member named|no type named) '(?P<name>\w+)'"
)
_LACKED = re.compile(r"\(HIP [\d.]+ has it(?: for [\w ]+)?, HIP [^()]+ does not\)")


def hip_version(folder: Path) -> str:
    """The version of HIP (``5.2``) whose headers are in ``folder``; "" where that is not known."""
    try:
        numbers = dict(_VERSION.findall(read_bytes(folder / "hip/hip_version.h").decode(errors="replace")))
    except OSError:
        return ""
    return f"{numbers['MAJOR']}.{numbers['MINOR']}" if len(numbers) == 2 else ""


def hip_in(folder: Path) -> str:
    """The version and the place of HIP's headers, in words: ``HIP 5.2 in /usr/include``, as far as it is known."""
    return " ".join(filter(None, ("HIP", hip_version(folder), "in", str(folder))))


def headers_of(flags: Sequence[str]) -> Path | None:
    """The folder of HIP's headers that the compiler's options ``flags`` name; ``None`` where it finds its own."""
    named = [Path(flag) for before, flag in pairwise(flags) if before == _FOLDER]
    named += [Path(flag[len(_ROOT) :]) / "include" for flag in flags if flag.startswith(_ROOT)]
    return next((folder.resolve() for folder in named if (folder / "hip/hip_version.h").is_file()), None)


def with_releases(log: str, folder: Path | None) -> str:
    """The compiler's ``log``, where an error about a function that only a newer HIP has says so. ``folder`` has the
    headers."""
    version = "" if folder is None else hip_version(folder)
    if folder is None or not version:
        return log
    lines = log.split("\n")
    for at, line in enumerate(lines):
        name = _NAME.search(line)
        if name is None:
            continue
        for row in _rows(name["name"]):
            kind = row.get("argument")
            if release(Path(version)) < release(Path(row["since"])) and (kind is None or _is_given(kind, lines, at)):
                has = f"HIP {row['since']} has it" + (f" for {kind}" if kind else "")
                lines[at] = f"{line} ({has}, {hip_in(folder)} does not)"
    return "\n".join(lines)


def lacks_function(text: str) -> bool:
    """Whether ``text``, an error of ``with_releases``, is about a function that only a newer HIP has."""
    return _LACKED.search(text) is not None


@cache
def _table() -> list[dict[str, Any]]:
    return list(own_yaml(_FUNCTIONS))


def _rows(name: str) -> Iterator[dict[str, Any]]:
    return (row for row in _table() if name in row["functions"])


def _is_given(kind: str, lines: Sequence[str], at: int) -> bool:
    """Whether the notes to the error on line ``at`` say that a pointer to ``kind`` is given."""
    for line in lines[at + 1 :]:
        if _ERROR.search(line):
            return False
        if re.search(rf"no known conversion from '(?:[^']*' \(aka ')?{kind} \*'", line):
            return True
    return False
