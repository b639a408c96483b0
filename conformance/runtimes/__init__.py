"""The HIP runtime library under hip-python: AMD's where there is an AMD GPU, ours for the host elsewhere.

A ``RuntimeKind`` says what a runtime can do, without loading it:

    >>> from conformance.runtimes import runtime_kind
    >>> kind = runtime_kind("isa")
    >>> kind.on_host, kind.chooses_wave
    (True, False)
    >>> kind.executed.format(arch="gfx942")
    'AMD machine code for gfx942, interpreted; not a GPU'
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from conformance.runtimes.kind import Choice, NoRuntime, Runtime, RuntimeKind

_KINDS = {
    "rocm": "conformance.runtimes.rocm.kind",
    "cpu": "conformance.runtimes.cpu.kind",
    "cuda": "conformance.runtimes.cuda.kind",
    "isa": "conformance.runtimes.isa.kind",
}
"""A line per runtime: the module whose ``KIND`` it is, imported when it is asked for. ``auto`` tries them in order."""

AUTO = "auto"
NAMES = tuple(_KINDS)


def known_kind(name: str) -> RuntimeKind | None:
    """The runtime called ``name``; ``None`` for any other name, as a record of another release may have one."""
    if name not in _KINDS:
        return None
    kind: RuntimeKind = import_module(_KINDS[name]).KIND
    return kind


def runtime_kind(name: str) -> RuntimeKind:
    """The runtime called ``name``, one of ``NAMES`` (``auto`` is none). Raises ``NoRuntime`` for any other name."""
    kind = known_kind(name)
    if kind is None:
        raise NoRuntime(f"there is no runtime {name!r}; expected one of {', '.join(NAMES)}")
    return kind


def choose(name: str) -> Choice:
    """The runtime and the devices to use for ``name``. For ``auto`` it is the first runtime of the list that has a
    device.

    Raises ``NoRuntime`` where the runtime has no device here.
    """
    if name != AUTO:
        return runtime_kind(name).find()
    sign: str | None = None
    for each in NAMES:
        try:
            choice = runtime_kind(each).find()
        except NoRuntime as error:
            sign = sign or error.sign
            continue
        return replace(choice, fallback=sign)
    raise NoRuntime(f"no runtime has a device here ({', '.join(NAMES)}); name one with --runtime to see why")


def open_runtime(name: str, wave: int | None = None, threads: int | None = None) -> Runtime:
    """Load the libraries of the runtime ``name`` (not ``auto``) into this process, and have hip-python use them.

    ``wave`` is the wave size where the runtime lets one choose it, ``threads`` the number of host threads. Raises
    ``NoRuntime``, ``NoCompiler`` and ``BuildError``.
    """
    return runtime_kind(name).open(wave, threads)
