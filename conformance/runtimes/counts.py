"""What launches did, as a runtime that sees each instruction counts it: counts, not times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class LaunchCounts:
    """Sums over ``launches`` and their ``waves``; ``line`` is the bytes of a cache line, ``banks`` are those
    of LDS that conflicts are counted for (0: they mean nothing).

    Instructions that waves executed, by class as AMD's profilers tell them apart: ``scalar``, ``vector``, ``matrix``,
    ``scalar_memory``, ``memory`` (vector memory, with scratch), ``lds`` and ``control`` (branches, waits, barriers).
    Over vector and matrix instructions ``lanes_active`` of ``lanes``. ``accesses`` are instructions that reach global
    memory with at least one lane, ``asked`` the bytes that their lanes ask for, each once per instruction, ``moved``
    those of the cache lines that hold them (no cache keeps a line from one instruction to the next here).
    ``bank_conflicts`` counts how often a group of lanes of an LDS access (``lds_accesses``) has to be answered once
    more, because a bank of 4 bytes has another word for it.
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
    line: int = 0
    banks: int = 32

    @classmethod
    def of(cls, values: Sequence[int], line: int = 0, banks: int = 32) -> LaunchCounts:
        """From the values of ``hipisaCounts``, in its order."""
        names = [field.name for field in fields(cls)][: len(values)]
        return cls(line=line, banks=banks, **dict(zip(names, values, strict=True)))

    @property
    def instructions(self) -> int:
        """Of all classes."""
        return self.scalar + self.vector + self.matrix + self.scalar_memory + self.memory + self.lds + self.control
