"""A checkout against the specs: new, gone, changed and moved kernels."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.port.definitions.parameters import c_type
from conformance.port.definitions.scan import Definition, Param
from conformance.spec.kernel import Kernel, Parameter
from conformance.spec.load import Specs
from conformance.upstream.checkout import Checkout
from conformance.upstream.ffi import LauncherDrift, compare_launchers


@dataclass(frozen=True)
class Change:
    """A kernel whose parameters are not the specs': where Candle defines it, and the first difference in words."""

    kernel: Kernel
    definition: Definition
    difference: str


@dataclass(frozen=True)
class Move:
    """A kernel that Candle defines on another line than the specs say."""

    kernel: Kernel
    definition: Definition

    @property
    def place(self) -> str:
        """``file.cu:line`` of today."""
        return place(self.definition)


@dataclass(frozen=True)
class Length:
    """A source whose number of lines is not the specs'."""

    module: str
    source: str
    was: int
    now: int


@dataclass(frozen=True)
class Drift:
    """All differences between a checkout and the specs, each in the order of the specs or of the sources."""

    new: tuple[Definition, ...]
    gone: tuple[Kernel, ...]
    changed: tuple[Change, ...]
    moved: tuple[Move, ...]
    lengths: tuple[Length, ...]
    launchers: LauncherDrift = field(default_factory=LauncherDrift)

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.new or self.gone or self.changed or self.moved or self.lengths or self.launchers)


def place(definition: Definition) -> str:
    """``file.cu:line`` of a definition, as the specs' ``upstream`` spells it."""
    return f"{definition.file.name}:{definition.line}"


def compare(checkout: Checkout, specs: Specs) -> Drift:
    """What ``checkout`` defines against what ``specs`` say."""
    common = [(kernel, checkout.kernels[name]) for name, kernel in specs.kernels.items() if name in checkout.kernels]
    seconds = [
        (specs.kernels[definition.name], definition)
        for definition in checkout.alternatives
        if definition.name in specs.kernels
    ]
    return Drift(
        new=tuple(found for name, found in checkout.kernels.items() if name not in specs.kernels),
        gone=tuple(kernel for name, kernel in specs.kernels.items() if name not in checkout.kernels),
        changed=tuple(
            Change(kernel, definition, difference)
            for kernel, definition in (*common, *seconds)
            if (difference := parameter_difference(kernel, definition)) is not None
        ),
        moved=tuple(Move(kernel, found) for kernel, found in common if kernel.upstream != place(found)),
        lengths=tuple(
            Length(module.name, module.source, module.source_lines, checkout.modules[module.source])
            for module in specs.modules.values()
            if checkout.modules.get(module.source, module.source_lines) != module.source_lines
        ),
        launchers=compare_launchers(checkout.launchers, specs.launchers),
    )


def parameter_difference(kernel: Kernel, definition: Definition) -> str | None:
    """The first difference between the spec's parameters and the definition's, in words, or ``None``."""
    for position, (want, have) in enumerate(zip(kernel.params, definition.params, strict=False), 1):
        if not _same_type(want, have):
            return f"parameter {position} is {have.type} {have.name}, the spec has {describe_parameter(want)}"
        if want.name != have.name:
            return f"parameter {position} is called {have.name or 'nothing'}, in the spec {want.name}"
    if len(kernel.params) != len(definition.params):
        listed = ", ".join(f"{param.type} {param.name}" for param in definition.params)
        return f"{len(definition.params)} parameters ({listed}), the spec has {len(kernel.params)}"
    return None


def _same_type(want: Parameter, have: Param) -> bool:
    found = c_type(have.type)
    constant = have.type.startswith("const ") or have.type.split("*")[0].rstrip().endswith(" const")
    return found.is_dtype(want.dtype, want.pointer) and (not want.pointer or constant == (want.role == "in"))


def describe_parameter(parameter: Parameter) -> str:
    """A parameter as a spec writes it."""
    dtype = parameter.dtype.removesuffix("*")
    return f"{parameter.name}: {parameter.role} {dtype}{'*' if parameter.pointer else ''}"
