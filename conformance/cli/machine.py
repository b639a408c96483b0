"""The rows of ``candle-parity doctor`` that list what is there; nothing is compiled or launched for them."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Literal

from conformance.files import cache_folder, own_python, version
from conformance.record.commits import harness_commit
from conformance.runtimes import NAMES, known_kind, runtime_kind
from conformance.runtimes.cpu.control import processor
from conformance.runtimes.hip import matrix_products, random_numbers
from conformance.runtimes.kind import Choice, CodeFormat
from conformance.runtimes.rocm.devices import groups, nodes, probed, visible
from conformance.runtimes.rocm.search import installations
from conformance.text import one_line
from conformance.toolchains.amd import find_toolchain as find_amd_compiler
from conformance.toolchains.headers import hip_in
from conformance.toolchains.host import NoCompiler, find_toolchain
from conformance.toolchains.search import output_of
from conformance.toolchains.targets import AmdError, target

_OS = Path("/etc/os-release")
_LEAST_ROOM = 1 << 30
_MARKS = {"ok": "ok", "todo": "!!", "none": "--"}
_WIDTH, _HEAD = 118, 20
_ANY_NVIDIA = "sm_90"
"""nvcc is the same for every architecture."""
_OPEN = "from conformance.runtimes.hip.{0} import *; print(open_{1}(sys.argv[1:]).about)"
_LIBRARIES = (
    ("blas", "gemm", matrix_products.VARIABLE, _OPEN.format("matrix_products", "products")),
    ("rand", "rand", random_numbers.VARIABLE, _OPEN.format("random_numbers", "generators")),
)


@dataclass(frozen=True)
class Row:
    """A line of ``doctor``.

    ``state`` is ``ok``; ``todo``, if something is to be done, which ``todo`` says; or ``none``, if something is not
    there and not needed. ``decides`` says that no run is possible unless the row is ok.
    """

    state: Literal["ok", "todo", "none"]
    what: str
    text: str
    todo: str = ""
    decides: bool = False


def rendered(row: Row) -> str:
    """The row as text: ``ok what text``, with what to do on lines of its own."""
    indent = " " * _HEAD
    head = f"{_MARKS[row.state]}  {row.what:<{_HEAD - 4}}"
    # A path or a package's name is for copying.
    wrap = partial(textwrap.wrap, width=_WIDTH, break_on_hyphens=False, break_long_words=False)
    lines = wrap(one_line(row.text), initial_indent=head, subsequent_indent=indent)
    if row.todo:
        lines += wrap(f"-> {one_line(row.todo)}", initial_indent=indent, subsequent_indent=f"{indent}   ")
    return "\n".join(lines)


def machine_rows(choice: Choice) -> Iterator[Row]:
    """The rows about what this machine has, as far as they matter for a run with ``choice`` or for an AMD GPU."""
    yield Row("ok", "machine", f"{_system()}, {processor()}, {len(os.sched_getaffinity(0))} cores")
    commit = harness_commit()
    what = version() + (f" at {commit}" if commit else "")
    yield Row("ok", "candle-parity", f"{what}, Python {platform.python_version()} ({sys.executable})")
    yield _hip_python()
    yield from _rocm(choice)
    yield from _compilers(choice)
    yield from _launcher_compilers(choice)
    yield from _libraries(choice)
    yield _cache()


def _system() -> str:
    try:
        lines = _OS.read_text().splitlines()
    except OSError:
        lines = []
    name = next((line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME=")), "Linux")
    return f"{name}, kernel {platform.release()}"


def _hip_python() -> Row:
    try:
        return Row("ok", "hip-python", metadata.version("hip-python"))
    except metadata.PackageNotFoundError:
        return Row("todo", "hip-python", "is not installed", "pip install hip-python")


def _rocm(choice: Choice) -> Iterator[Row]:
    """AMD's driver, libraries and devices. They are to be mended where ROCm was asked for or there is a sign of it."""
    wanted: Literal["todo", "none"] = "todo" if _is(choice, "amd") or choice.fallback else "none"
    device_nodes = nodes()
    if not device_nodes:
        yield Row("none", "device nodes", "no /dev/kfd, no /dev/dri/renderD*")
    for node in device_nodes:
        todo = "" if node.usable else f"join the group {node.group}: usermod -aG {node.group} $USER, then log in again"
        yield Row("ok" if node.usable else "todo", "device node", str(node), todo)
    yield Row("ok" if device_nodes else "none", "groups", ", ".join(groups()))
    for name, value in visible().items():
        yield Row("ok", "variable", f"{name}={value}")
    libraries = installations()
    if not libraries:
        yield Row(wanted, "ROCm", "no libamdhip64.so found", "install ROCm, or set ROCM_PATH to where it is")
    for number, one in enumerate(libraries):
        headers = f"headers of {hip_in(one.include)}" if one.include else "no headers (hip/hip_runtime.h)"
        yield Row("ok" if one.rtc else "none", "ROCm, used" if number == 0 else "ROCm, not used", f"{one}, {headers}")
    answer = probed()
    if answer.devices:
        driver = f"driver {answer.driver}" if answer.driver else "no driver of a GPU"
        yield Row("ok", "HIP", f"{answer.hip}, {driver}")
    else:
        yield Row(wanted, "AMD GPUs", "none", answer.why if wanted == "todo" else "")
    if answer.emulator:
        yield Row("ok", "emulator", f"{answer.emulator}: no GPU runs the kernels")
    what = "emulated GPU" if answer.emulator else "AMD GPU"
    left_out = set(choice.left_out)
    for device in answer.devices:
        note = ", left out: another architecture" if str(device) in left_out else ""
        yield Row("none" if note else "ok", what, f"{device}{note}")


def _compilers(choice: Choice) -> Iterator[Row]:
    try:
        yield Row("ok", "compiler, AMD", find_amd_compiler([target("gfx942")]).name)
    except AmdError as error:
        yield Row("none", "compiler, AMD", str(error))
    try:
        yield Row("ok", "compiler, host", find_toolchain(links_standard_library=False).identity)
    except NoCompiler as error:
        yield Row("todo" if _is(choice, "host") else "none", "compiler, host", "none", str(error))


def _launcher_compilers(choice: Choice) -> Iterator[Row]:
    """Who compiles linked launchers, by runtime."""
    devices = probed().devices
    amd = devices[0].arch if devices else "gfx942"
    for name in NAMES:
        kind = runtime_kind(name)
        if kind.launchers is None:
            continue
        what = f"launchers, {name}"
        if kind.launchers.compiler is None:
            try:
                yield Row("ok", what, f"{find_toolchain(links_standard_library=False).identity}, as kernels")
            except NoCompiler:
                yield Row("none", what, "none: as compiler, host")
            continue
        found = kind.launchers.compiler(amd if kind.code == "amd" else _ANY_NVIDIA)
        if isinstance(found, str):
            yield Row("todo" if choice.name == name else "none", what, "no compiler; launchers are not_run", found)
        else:
            yield Row("ok", what, found.name)


def _libraries(choice: Choice) -> Iterator[Row]:
    """The libraries of matrix products and random numbers, by runtime; opened in a process of their own."""
    for name, (kind, calls, variable, opens) in product(NAMES, _LIBRARIES):
        paths, what = runtime_kind(name).libraries(kind), f"libraries, {name}"
        found = output_of((*own_python(opens), *paths)).strip() if paths else ""
        if found:
            yield Row("ok", what, found)
        elif paths:
            todo = f"install one, or name it in {variable}"
            yield Row("todo" if choice.name == name else "none", what, f"none; {calls} is not_run", todo)


def _is(choice: Choice, code: CodeFormat) -> bool:
    """Whether the runtime that was asked for loads such code objects."""
    kind = known_kind(choice.name)
    return kind is not None and kind.code == code


def _cache() -> Row:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        room = shutil.disk_usage(folder).free
    except OSError as error:
        return Row("todo", "cache", f"{folder}: {error.strerror}", "name another folder in CANDLE_PARITY_CACHE")
    if not os.access(folder, os.W_OK):
        return Row("todo", "cache", f"{folder} cannot be written", "name another folder in CANDLE_PARITY_CACHE")
    text = f"{folder}, {room / (1 << 30):.1f} GiB free"
    return Row("ok", "cache", text) if room >= _LEAST_ROOM else Row("todo", "cache", text, "make room there")
