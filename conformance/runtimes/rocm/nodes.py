"""The device nodes of the amdgpu driver, who may open them, and what hides devices: why HIP may show none."""

from __future__ import annotations

import grp
import os
import stat
from dataclasses import dataclass
from pathlib import Path

DEV = Path("/dev")
VISIBLE = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""Environment variables by which HIP and ROCr hide devices."""


@dataclass(frozen=True)
class Node:
    """A device node: whether this user may read and write it, and the group that may."""

    path: Path
    usable: bool
    group: str
    mode: str

    def __str__(self) -> str:
        return f"{self.path} ({self.mode}, group {self.group}{'' if self.usable else ', not for this user'})"


def nodes() -> list[Node]:
    """/dev/kfd and the render nodes, as far as they are there."""
    try:
        render = sorted((DEV / "dri").glob("renderD*"))
    except OSError:
        render = []
    return [_node(path) for path in (DEV / "kfd", *render) if path.exists()]


def visible() -> dict[str, str]:
    """The variables that hide devices, as they are set."""
    return {name: os.environ[name] for name in VISIBLE if name in os.environ}


def groups() -> list[str]:
    """The names of this process's groups."""
    return [_group(number) for number in sorted({os.getegid(), *os.getgroups()})]


def cause(said: str) -> str:
    """``said``, HIP's own words for showing no device, with what the machine tells of the cause and what to do."""
    found = nodes()
    closed = [node for node in found if not node.usable]
    wanted = sorted({node.group for node in closed})
    if all(node.path.name != "kfd" for node in found):
        return (
            f"{said}; there is no {DEV / 'kfd'}: load the amdgpu driver, or start a container with --device=/dev/kfd "
            "--device=/dev/dri"
        )
    if closed:
        return (
            f"{said}; this user may not open {', '.join(str(node.path) for node in closed)}: join the group "
            f"{' and '.join(wanted)} (usermod -aG {','.join(wanted)} $USER, then log in again; in a container "
            f"{' '.join(f'--group-add {name}' for name in wanted)})"
        )
    if len(found) == 1:
        return f"{said}; there is no {DEV / 'dri'}/renderD* node: start the container with --device=/dev/dri too"
    if visible():
        shown = " ".join(f"{name}={value}" for name, value in visible().items())
        return f"{said}; {shown} may hide all devices: unset it, or name devices that are there"
    return said


def _node(path: Path) -> Node:
    facts = path.stat()
    usable = os.access(path, os.R_OK | os.W_OK)
    return Node(path, usable, _group(facts.st_gid), stat.filemode(facts.st_mode))


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
