"""Which runtime and which devices a run uses, and what was found on the way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from conformance.runtimes import NoRuntime
from conformance.runtimes.rocm.devices import Probe, of_one_architecture, probe
from conformance.runtimes.rocm.nodes import nodes, visible
from conformance.runtimes.rocm.search import installations


@dataclass(frozen=True)
class Choice:
    """What is to run the kernels.

    ``devices`` are the numbers of the devices to use, all of one architecture, and ``left_out`` names the others.
    ``fallback`` says why ``auto`` came down to the host where there are signs of an AMD GPU. ``library`` is the
    libamdhip64 that is used and ``others`` are those found besides, each with how it was found; ``hip`` and
    ``driver`` are versions, ``visible`` the variables that hide devices as they are set. All but ``devices`` are empty
    where the runtime is not ROCm's.
    """

    name: str
    devices: tuple[int, ...] = (0,)
    left_out: tuple[str, ...] = ()
    fallback: str | None = None
    library: str | None = None
    others: tuple[str, ...] = ()
    hip: str | None = None
    driver: str | None = None
    visible: tuple[str, ...] = ()


def choose(name: str) -> Choice:
    """``name`` as what it comes down to here: ``auto`` is ``rocm`` where HIP shows a GPU, else ``cpu``.

    Raises ``NoRuntime`` for a runtime that has no device.
    """
    if name == "cpu":
        return Choice("cpu")
    if name == "cuda":
        from conformance.runtimes.cuda.control import nvidia_devices

        count, why = nvidia_devices()
        if not count:
            raise NoRuntime(f"the cuda runtime has no GPU: {why}; --runtime cpu runs the kernels on the host")
        return Choice("cuda", tuple(range(count)))
    found = installations()
    answer = probed()
    if answer.devices:
        used, rest = of_one_architecture(answer.devices)
        return Choice(
            "rocm",
            tuple(device.ordinal for device in used),
            tuple(map(str, rest)),
            library=str(found[0]),
            others=tuple(map(str, found[1:])),
            hip=answer.hip or None,
            driver=answer.driver or None,
            visible=tuple(f"{name}={value}" for name, value in visible().items()),
        )
    if name == "rocm":
        raise NoRuntime(f"no AMD GPU can be used: {answer.why}; --runtime cpu runs the kernels on the host")
    signs = [f"there is {found[0].hip}"] if found else []
    signs += [f"there is {node}" for node in nodes() if node.path.name == "kfd"]
    return Choice("cpu", fallback=f"{' and '.join(signs)}, but {answer.why}" if signs else None)


@lru_cache(maxsize=1)
def probed() -> Probe:
    """The AMD GPUs of this machine, asked for once."""
    return probe()
