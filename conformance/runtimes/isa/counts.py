"""What launches did, as the interpreter counts it: counts, not times."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class LaunchCounts:
    """Sums over ``launches`` and their ``waves``.

    Instructions that waves executed, by class as AMD's profilers tell them apart: ``scalar``, ``vector``, ``matrix``,
    ``scalar_memory``, ``memory`` (vector memory, with scratch), ``lds`` and ``control`` (branches, waits, barriers).
    Over vector and matrix instructions ``lanes_active`` of ``lanes``. ``accesses`` are instructions that reach global
    memory with at least one lane, ``asked`` the bytes that their lanes ask for, each once per instruction, ``moved``
    those of the cache lines that hold them (no cache keeps a line from one instruction to the next here).
    ``bank_conflicts`` counts how often a group of lanes of an LDS access (``lds_accesses``) has to be answered once
    more, because a bank of 32 has another word for it.
    """

    launches: int
    waves: int
    scalar: int
    vector: int
    matrix: int
    scalar_memory: int
    memory: int
    lds: int
    control: int
    lanes_active: int
    lanes: int
    accesses: int
    asked: int
    moved: int
    lds_accesses: int
    bank_conflicts: int

    @classmethod
    def of(cls, values: Sequence[int]) -> LaunchCounts:
        """From the values of ``hipisaCounts``, in its order."""
        return cls(*values)

    @property
    def instructions(self) -> int:
        """Of all classes."""
        return self.scalar + self.vector + self.matrix + self.scalar_memory + self.memory + self.lds + self.control
