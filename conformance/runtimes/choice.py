"""Which runtime and which devices a run uses, and what was found on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.runtimes import AUTO, NAMES, NoRuntime, runtime_kind


@dataclass(frozen=True)
class Choice:
    """What is to run the kernels.

    ``devices`` are the numbers of the devices to use, all of one architecture, and ``left_out`` names the others.
    ``fallback`` says why ``auto`` passed over a runtime of whose device there are signs. ``library`` is the
    libamdhip64 that is used and ``others`` are those found besides, each with how it was found; ``hip`` and
    ``driver`` are versions, ``visible`` the variables that hide devices as they are set; ``emulator`` names the
    emulator whose devices HIP shows. All but ``devices`` are empty where the runtime is not ROCm's.
    """

    name: str
    devices: tuple[int, ...] = (0,)
    left_out: tuple[str, ...] = ()
    fallback: str | None = None
    library: str | None = None
    others: tuple[str, ...] = ()
    hip: str | None = None
    driver: str | None = None
    emulator: str | None = None
    visible: tuple[str, ...] = ()


NOTHING_RUNS = Choice("none")
"""Where no kernel is executed: a reference on trial. Records call its runtime so."""


def choose(name: str) -> Choice:
    """``name`` as what it comes down to here: ``auto`` is the first runtime in the list that has a device.

    Raises ``NoRuntime`` for a runtime that has no device.
    """
    if name != AUTO:
        return runtime_kind(name).find()
    sign: str | None = None
    for each in NAMES:
        try:
            found = runtime_kind(each).find()
        except NoRuntime as error:
            sign = sign or error.sign
            continue
        return replace(found, fallback=sign)
    raise NoRuntime(f"no runtime has a device here ({', '.join(NAMES)}); name one with --runtime to see why")
