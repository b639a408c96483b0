"""What a spec says of one kernel: the plain data that every later step reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from conformance.spec.entry import ROWS, Build, Entry

Role = Literal["scalar", "in", "out", "inout", "scratch", "stream", "device"]
"""The last three are of host functions: a buffer whose content afterwards is anybody's, the stream to put work on, and
a number that describes the device and must not choose the answer."""


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter. ``dtype`` is spelled as in ``conformance.dtypes``; a pointer's dtype is its pointee's.

    ``moved``: the kernel moves its elements, or its value, and computes nothing with them, so that a port may declare
    it with any type of the same width.
    """

    name: str
    dtype: str
    pointer: bool
    role: Role
    moved: bool = False


@dataclass(frozen=True)
class Tolerance:
    """How far an element may be from the reference, and who says so.

    ``ulp`` bounds the final result, in representable steps of the output type. ``library_ulp`` is the error that the
    one library function inside the formula (exp, tanh, ...) may have, in steps of the type it is computed in: the
    reference turns it into a per-element interval, so that cancellation after the call widens the interval as much as
    it widens the error and no more.
    """

    ulp: int
    library_ulp: int
    source: str


@dataclass(frozen=True)
class Undefined:
    """An input for which upstream promises no result, and why; no case may contain it."""

    input: str
    reason: str


@dataclass(frozen=True)
class Fix:
    """What upstream gets wrong, in words, and the name under which the reference has the right result."""

    name: str
    defect: str


@dataclass(frozen=True)
class Own:
    """Where a port describes a kernel of its own, by absolute paths.

    ``spec`` is the file with its stanza, ``reference`` the module with its reference function, ``families`` the port's
    folder of launch families (empty: it has none). ``digest`` is over all these files. ``trusted`` says that the user
    wants the port's Python to run: without it no reference is evaluated.
    """

    spec: str
    reference: str
    families: str
    digest: str
    trusted: bool = False


FIXED = "fixed"
"""The key of a variant that asks the reference for the right result, by a fix's name."""


@dataclass(frozen=True)
class Kernel:
    """One of Candle's kernels, launchers or library calls (``entry``; ``conformance.spec.entry`` says what differs).

    ``variant`` holds what distinguishes it inside its family: ``op``, ``dtype``, ``src_dtype``, ``dst_dtype``,
    ``idx_dtype``, ... (dtypes spelled as in ``conformance.dtypes``). ``launch`` names the launch family, the key of
    the case generator. ``upstream`` is ``file.cu:line`` of the definition in Candle; ``upstream_defects`` says what
    Candle itself gets wrong there.
    """

    name: str
    module: str
    family: str
    variant: Mapping[str, str]
    params: tuple[Parameter, ...]
    launch: str
    tolerance: Tolerance
    upstream: str
    bench: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By size (``large``, ``small``), the cases that ``bench`` times: the text between a case id's brackets."""
    known_failure: str | None = None
    notes: tuple[str, ...] = field(default=())
    upstream_defects: tuple[str, ...] = field(default=())
    wrong_upstream: tuple[str, ...] = field(default=())
    """Patterns of the cases, as the text between a case id's brackets, in which Candle's own kernel is wrong."""
    fix: Fix | None = None
    """The upstream defect for which the reference knows the right result."""
    undefined: tuple[Undefined, ...] = field(default=())
    entry: Entry = "kernel"
    wired_at: tuple[str, ...] = field(default=())
    """Of a launcher, where Candle's Rust side calls it: ``FILE:LINE``."""
    own: Own | None = None
    """Of a kernel that Candle does not have, where its port describes it; ``upstream`` is then a line of its spec."""

    @property
    def is_untrusted(self) -> bool:
        """Whether its reference is Python of a port of which the user has not said that it may run (``--own``)."""
        return self.own is not None and not self.own.trusted

    @property
    def is_host_function(self) -> bool:
        """Whether this is a host function, a library call among them, which chooses the geometry of its launches
        itself."""
        return ROWS[self.entry].is_host_function

    @property
    def build(self) -> Build | None:
        """What a source is compiled to for it; ``None`` for a call of the vendor's library, which no source defines."""
        return ROWS[self.entry].build

    def is_wrong_upstream(self, case: str) -> bool:
        """Whether Candle's own kernel gets ``case``, the text between a case id's brackets, wrong."""
        return any(fnmatchcase(case, pattern) for pattern in self.wrong_upstream)

    @property
    def is_fixed(self) -> bool:
        """Whether the kernel is judged by the right result where Candle's own has a defect, as the port declared."""
        return FIXED in self.variant

    def as_upstream(self) -> Kernel:
        """The same kernel, judged by what Candle's kernel computes, defects included."""
        return replace(self, variant={axis: value for axis, value in self.variant.items() if axis != FIXED})

    def fixed(self) -> Kernel:
        """The same kernel, judged by the right result in place of Candle's. Only for a kernel that has a ``fix``."""
        assert self.fix is not None
        return replace(self, variant={**self.variant, FIXED: self.fix.name})

    def param(self, name: str) -> Parameter:
        """The parameter called ``name``; raises ``KeyError``."""
        for parameter in self.params:
            if parameter.name == name:
                return parameter
        raise KeyError(f"kernel {self.name} has no parameter {name!r}")
