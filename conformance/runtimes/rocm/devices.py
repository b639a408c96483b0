"""The AMD GPUs that HIP shows, the choice of those to use, and why HIP may show none: the nodes of the amdgpu driver,
who may open them, and what hides devices. HIP is asked in a process of its own."""

from __future__ import annotations

import ctypes
import grp
import json
import os
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.files import own_python
from conformance.processes.child import how_ended
from conformance.processes.supervisor import run_bounded
from conformance.runtimes.rocm.control import NoRocm, RocmRuntime, lacking
from conformance.runtimes.rocm.search import chosen

_PROGRAM = "from conformance.runtimes.rocm.devices import print_answer; print_answer()"
_MARK = "candle-parity devices: "
SECONDS = 60.0
"""For HIP to be set up; with a wedged GPU it never is."""

DEV = Path("/dev")
VISIBLE = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""Environment variables by which HIP and ROCr hide devices."""

EMULATORS: tuple[tuple[str, str], ...] = (("librocjitsu", "rocjitsu"),)
"""How the name of a library begins that an emulator loads into each process, and the emulator.

rocJITsu preloads ``librocjitsu_kmd.so``, which answers for the kernel driver, with the devices of its own process or of
a daemon (ROCm/rocm-systems, emulation/rocjitsu).
"""

OWN_EMULATOR = "candle-parity emulate"
_OF_OWN = "hipcpuLive"
"""A function that AMD's libamdhip64 lacks, and those of this harness have: kernels run on the host under them."""

_MAPS = Path("/proc/self/maps")

_MODULE_VERSION = Path("/sys/module/amdgpu/version")
_KERNEL = Path("/proc/sys/kernel/osrelease")


@dataclass(frozen=True)
class AmdDevice:
    """A GPU that HIP shows: its number, its architecture with features (``gfx90a:sramecc+:xnack-``), wave size and
    compute units, and whether it is part of the processor."""

    ordinal: int
    name: str
    arch: str
    wave: int
    units: int
    integrated: bool

    def __str__(self) -> str:
        kind = ", integrated" if self.integrated else ""
        return f"{self.ordinal}: {self.name} ({self.arch}, wave {self.wave}, {self.units} compute units{kind})"

    @property
    def processor(self) -> str:
        """The architecture without features: ``gfx90a``."""
        return self.arch.partition(":")[0]


@dataclass(frozen=True)
class Probe:
    """What HIP says of this machine: its devices, or ``why`` there are none, in a sentence that says what to do.

    ``hip`` is the version of the HIP runtime and ``driver`` that of the kernel driver; empty where unknown.
    ``emulator`` is set where the devices are an emulator's.
    """

    devices: tuple[AmdDevice, ...]
    why: str = ""
    hip: str = ""
    driver: str = ""
    emulator: str = ""


def probe() -> Probe:
    """Ask the HIP installation for its devices, in a process of its own."""
    if without := lacking(chosen()):
        return Probe((), cause(without))
    done = run_bounded(own_python(_PROGRAM), SECONDS)
    if done.code is None:
        return Probe((), f"HIP did not answer within {SECONDS:g} s: a GPU or its driver hangs; see the kernel's log")
    answer = next((line for line in reversed(done.out.splitlines()) if line.startswith(_MARK)), None)
    if answer is None:
        how = how_ended(done.code)
        last = (done.err.strip().splitlines() or ["no message"])[-1][:300]
        return Probe((), cause(f"asking HIP for its devices ended with {how}: {last}"))
    answered = json.loads(answer.removeprefix(_MARK))
    devices = tuple(AmdDevice(**row) for row in answered["devices"])
    why = "" if devices else cause(answered["why"])
    driver = driver_version() if devices and not answered["emulator"] else ""
    return Probe(devices, why, answered["hip"], driver, answered["emulator"])


@lru_cache(maxsize=1)
def probed() -> Probe:
    """The answer of ``probe``, which is asked once per process."""
    return probe()


def of_one_architecture(devices: Iterable[AmdDevice]) -> tuple[tuple[AmdDevice, ...], tuple[AmdDevice, ...]]:
    """The devices to use, all of one architecture, and those that are left out.

    Cards come before GPUs that are part of a processor, then the architecture with the most compute units in all, then
    HIP's own order.
    """
    groups: dict[str, list[AmdDevice]] = {}
    for device in devices:
        groups.setdefault(device.arch, []).append(device)
    if not groups:
        return (), ()

    def size(group: list[AmdDevice]) -> tuple[bool, int, int]:
        return not group[0].integrated, sum(device.units for device in group), -group[0].ordinal

    best = max(groups.values(), key=size)
    rest = [device for group in groups.values() for device in group if group is not best]
    return tuple(best), tuple(sorted(rest, key=lambda device: device.ordinal))


@dataclass(frozen=True)
class Node:
    """A device node such as ``/dev/kfd``: whether this user may read and write it, and the group that may."""

    path: Path
    usable: bool
    group: str
    mode: str

    def __str__(self) -> str:
        return f"{self.path} ({self.mode}, group {self.group}{'' if self.usable else ', not for this user'})"


def nodes() -> list[Node]:
    """``/dev/kfd`` and the render nodes, those that are there."""
    try:
        render = sorted((DEV / "dri").glob("renderD*"))
    except OSError:
        render = []
    return [_node(path) for path in (DEV / "kfd", *render) if path.exists()]


def visible() -> dict[str, str]:
    """The variables that hide devices, as they are set."""
    return {name: os.environ[name] for name in VISIBLE if name in os.environ}


def groups() -> list[str]:
    """The names of the groups of this process."""
    return [_group(number) for number in sorted({os.getegid(), *os.getgroups()})]


def cause(text: str) -> str:
    """HIP's ``text`` for showing no device, with the cause that this machine shows, and what to do."""
    device_nodes = nodes()
    closed = [node for node in device_nodes if not node.usable]
    wanted = sorted({node.group for node in closed})
    if all(node.path.name != "kfd" for node in device_nodes):
        return (
            f"{text}; there is no {DEV / 'kfd'}: load the amdgpu driver, or start a container with --device=/dev/kfd "
            "--device=/dev/dri"
        )
    if closed:
        return (
            f"{text}; this user may not open {', '.join(str(node.path) for node in closed)}: join the group "
            f"{' and '.join(wanted)} (usermod -aG {','.join(wanted)} $USER, then log in again; in a container "
            f"{' '.join(f'--group-add {name}' for name in wanted)})"
        )
    if len(device_nodes) == 1:
        return f"{text}; there is no {DEV / 'dri'}/renderD* node: start the container with --device=/dev/dri too"
    if visible():
        shown = " ".join(f"{name}={value}" for name, value in visible().items())
        return f"{text}; {shown} may hide all devices: unset it, or name devices that are there"
    return text


def _node(path: Path) -> Node:
    facts = path.stat()
    usable = os.access(path, os.R_OK | os.W_OK)
    return Node(path, usable, _group(facts.st_gid), stat.filemode(facts.st_mode))


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def emulator() -> str:
    """The emulator that is loaded into this process, with its library: ``rocjitsu (librocjitsu_kmd.so)``; empty without
    one.

    A libamdhip64 of this harness counts as one: a run inside of ``candle-parity emulate`` finds it as ROCm's.
    """
    if hasattr(ctypes.CDLL(None), _OF_OWN):
        return f"{OWN_EMULATOR} (libamdhip64.so)"
    try:
        lines = _MAPS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    names = {line.rpartition("/")[2] for line in lines if "/" in line}
    known = ((name, emulator) for name in sorted(names) for start, emulator in EMULATORS if name.startswith(start))
    return next((f"{emulator} ({name})" for name, emulator in known), "")


def driver_version() -> str:
    """The version of the amdgpu driver; that of Linux for the driver that is part of it."""
    for file, what in ((_MODULE_VERSION, "amdgpu "), (_KERNEL, "amdgpu of Linux ")):
        try:
            return what + file.read_text().strip()
        except OSError:
            continue
    return ""


def print_answer() -> None:
    """Print what ``probe`` reads; the process that it starts calls this."""
    print(_MARK + json.dumps(_answer()), flush=True)


def _answer() -> dict[str, Any]:
    try:
        runtime = RocmRuntime()
    except NoRocm as error:
        return {"why": str(error), "devices": [], "hip": "", "emulator": ""}
    from conformance.runtimes.hip.device import Device as Opened
    from conformance.runtimes.hip.device import HipError, device_count

    try:
        devices = [Opened(runtime, ordinal) for ordinal in range(device_count())]
    except (HipError, RuntimeError) as error:
        return {"why": str(error), "devices": [], "hip": runtime.version, "emulator": emulator()}
    rows = [
        asdict(AmdDevice(ordinal, one.name, one.arch, one.wave, one.multiprocessors, one.integrated))
        for ordinal, one in enumerate(devices)
    ]
    return {"why": "HIP shows no device", "devices": rows, "hip": runtime.version, "emulator": emulator()}
