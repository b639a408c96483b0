"""A cause: what is recognised, by which evidence, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.outcome import Evidence
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class Cause:
    """A row of the table of causes: the evidence that failing cases have to show, and what to do.

    A case has to show all of these:

    - one of ``faults``
    - one of ``answers``, where a name that ends in a blank stands for all names that begin so
    - wrong elements of no other kinds than ``elements``, and one of the kinds ``has`` among them
    - one of ``traits``
    - a kernel of one of ``launches``, ``dtypes`` and ``ops``

    ``holds`` names conditions on all cases of a kernel. With ``part`` the cause may explain some of a kernel's failing
    cases and leave the rest to others. ``title`` and ``advice`` are printed. For kernels that Candle does not have
    these are ``own_title`` and ``own_advice``, where the row has them.
    """

    id: str
    bug_class: str
    title: str
    advice: str
    faults: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    part: bool = False
    own_title: str = ""
    own_advice: str = ""

    def of_own_kernels(self) -> Cause:
        """The same cause, told of kernels that a port has and Candle has not."""
        return replace(self, title=self.own_title or self.title, advice=self.own_advice or self.advice)

    def fits(self, evidence: Evidence, traits: frozenset[str], kernel: Kernel) -> bool:
        """Whether a failing case of ``kernel`` with this evidence and these traits fits the row."""
        return (
            (not self.launches or kernel.launch in self.launches)
            and (not self.dtypes or kernel.variant.get("dtype") in self.dtypes)
            and (not self.ops or kernel.variant.get("op") in self.ops)
            and (evidence.fault in self.faults if self.faults else evidence.fault is None or not self._by_values)
            and (not self.answers or bool(self.matching(evidence)))
            and (not self.elements or (bool(evidence.elements) and set(evidence.elements) <= set(self.elements)))
            and (not self.has or not set(self.has).isdisjoint(evidence.elements))
            and (not self.traits or not traits.isdisjoint(self.traits))
        )

    @property
    def _by_values(self) -> bool:
        """Whether it is recognised by what the kernel has written; a fault may be by its answers or traits alone."""
        return bool(self.elements or self.has)

    def matching(self, evidence: Evidence) -> frozenset[str]:
        """Those of the evidence's answers that the row asks for."""
        return frozenset(filter(self._answers, evidence.answers))

    def _answers(self, name: str) -> bool:
        return any(name == known or (known.endswith(" ") and name.startswith(known)) for known in self.answers)


FIXES_UPSTREAM = "fixes-upstream"
"""The cause whose detail is a line of candle-parity.toml."""

OTHER_GEOMETRIES = ("other-geometry", "geometry-fault")
"""The causes whose detail is a launch geometry, as a row ``[[launch]]`` of candle-parity.toml has it."""

SCALED = "scaled"
"""The cause whose detail is the factor."""
