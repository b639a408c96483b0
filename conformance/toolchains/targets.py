"""AMD targets by name, and what goes wrong with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.errors import UserError

DEFAULT_TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")

_NAME = re.compile(
    r"gfx(?P<major>\d{1,2})(?P<minor>\d)(?P<step>[0-9a-f])(?P<features>(:(sramecc|xnack)[+-])*)", re.ASCII
)

_KNOWN = re.compile(
    "gfx(60[0-2]|70[0-5]|80[1235]|810|90[024689ac]|94[0-2]|950|101[0-3]|103[0-6]|110[0-3]|115[0-3]|120[01]|125[01])"
)
"""The processors of LLVM's user guide for the AMDGPU backend, without generic ones."""

_LDS_BYTES = {"gfx950": 160 * 1024}
_LDS_BYTES_ELSEWHERE = 64 * 1024


class AmdError(UserError, ValueError):
    """There is no usable compiler, no such target, or a binary is no AMD code object. One sentence that says what to
    do."""


class OtherDevice(AmdError):
    """The file has code objects for AMD GPUs, but none for the one that is asked for."""


@dataclass(frozen=True)
class AmdTarget:
    """A target such as ``gfx90a`` or ``gfx90a:xnack-``.

    ``isa_version`` is the value of the device libraries' constant, 1000 * major + 100 * minor + stepping. ``lds_bytes``
    is the most shared memory that a block can have.
    """

    name: str
    isa_version: int

    @property
    def processor(self) -> str:
        """The target's name without features: ``gfx90a``."""
        return self.name.partition(":")[0]

    @property
    def lds_bytes(self) -> int:
        """The most shared memory (LDS) that a block can have, in bytes."""
        return lds_bytes(self.processor)

    @property
    def default_wave(self) -> int:
        """The wave size that the compiler takes without an option: 64 before gfx10, 32 from gfx10 on."""
        return 64 if self.isa_version < 10000 else 32


def macros(name: str, wave: int) -> tuple[str, ...]:
    """The macros that AMD's compiler defines for the target ``name`` and waves of ``wave`` lanes, as ``NAME=VALUE``.

    Raises ``AmdError`` for an unknown target.
    """
    processor = target(name).processor
    family = processor.removeprefix("gfx")[:-2]
    return ("__AMDGPU__=1", "__AMDGCN__=1", f"__{processor}__=1", f"__GFX{family}__=1", *wave_macros(wave))


def wave_macros(wave: int) -> tuple[str, ...]:
    """The macros that AMD's compiler defines for waves of ``wave`` lanes, as ``NAME=VALUE``."""
    return (f"__AMDGCN_WAVEFRONT_SIZE={wave}", f"__AMDGCN_WAVEFRONT_SIZE__={wave}")


def lds_bytes(processor: str) -> int:
    """The most shared memory of a block on ``processor``, in bytes."""
    return _LDS_BYTES.get(processor, _LDS_BYTES_ELSEWHERE)


def target(name: str) -> AmdTarget:
    """The target called ``name``; raises ``AmdError``."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise AmdError(f"{name!r} is not an AMD target; expected names such as {', '.join(DEFAULT_TARGETS)}")
    version = 1000 * int(match["major"]) + 100 * int(match["minor"]) + int(match["step"], 16)
    return AmdTarget(name, version)


def given_target(name: str) -> AmdTarget:
    """The target that a user calls ``name``; raises ``AmdError`` also for one that LLVM does not list."""
    known = target(name)
    if not _KNOWN.fullmatch(known.processor):
        raise AmdError(f"no AMD GPU is a {known.processor}; expected names such as {', '.join(DEFAULT_TARGETS)}")
    return known


def targets_of(text: str) -> list[AmdTarget]:
    """The targets of a comma-separated list, each once, in its order; raises ``AmdError``."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    if not names:
        raise AmdError(f"no target is named; expected a list such as {','.join(DEFAULT_TARGETS)}")
    return [given_target(name) for name in dict.fromkeys(names)]
