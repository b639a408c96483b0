"""A checkout against the specs: new, gone, changed and moved kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.dtypes import DTYPES, dtype
from conformance.port.definitions.parameters import c_type
from conformance.port.definitions.scan import Definition, Param
from conformance.spec.kernel import Kernel, Parameter
from conformance.spec.load import Specs

if TYPE_CHECKING:  # what reads a checkout needs tree-sitter, an extra, and `new` does without
    from conformance.upstream.checkout import Checkout, ForeignFunction

_POINTERS = ("*const ", "*mut ")
_VOID = "c_void"
_SCALARS = {
    **{name: name for name in ("i16", "i32", "i64", "u8", "u32", "f32", "f64", "bool")},
    **{"i8": "u8", "u16": "i16", "u64": "size_t", "usize": "size_t", "isize": "i64"},
    **{"c_int": "i32", "c_uint": "u32", "c_long": "i64", "c_longlong": "i64", "c_float": "f32", "c_double": "f64"},
}
"""Rust's types of numbers, as the specs spell one of that size; a C long has 64 bits on Linux."""

_WIDE = 8
"""Bytes of a stream, which is a pointer or a number."""


@dataclass(frozen=True)
class ChangedKernel:
    """A kernel whose parameters differ from the spec's: where Candle defines it, and the first difference in words."""

    kernel: Kernel
    definition: Definition
    difference: str


@dataclass(frozen=True)
class Move:
    """A kernel that Candle defines on another line than the spec says."""

    kernel: Kernel
    definition: Definition

    @property
    def place(self) -> str:
        """Where Candle defines it now: ``file.cu:line``."""
        return place(self.definition)


@dataclass(frozen=True)
class Length:
    """A source with another number of lines than the spec says."""

    module: str
    source: str
    was: int
    now: int


@dataclass(frozen=True)
class LauncherDrift:
    """The launchers that only the checkout or only the specs have, and those whose parameters differ, with the
    difference."""

    new: tuple[ForeignFunction, ...] = ()
    gone: tuple[Kernel, ...] = ()
    changed: tuple[tuple[ForeignFunction, str], ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.new or self.gone or self.changed)


@dataclass(frozen=True)
class Drift:
    """All differences between a checkout and the specs, in the order of the specs or of the sources."""

    new: tuple[Definition, ...]
    gone: tuple[Kernel, ...]
    changed: tuple[ChangedKernel, ...]
    moved: tuple[Move, ...]
    lengths: tuple[Length, ...]
    launchers: LauncherDrift = field(default_factory=LauncherDrift)

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.new or self.gone or self.changed or self.moved or self.lengths or self.launchers)


def place(definition: Definition) -> str:
    """Where a definition is, as ``upstream`` in the specs spells it: ``file.cu:line``."""
    return f"{definition.file.name}:{definition.line}"


def compare(checkout: Checkout, specs: Specs) -> Drift:
    """The differences between what ``checkout`` defines and what ``specs`` say."""
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
            ChangedKernel(kernel, definition, difference)
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
    """The first difference between the spec's parameters and those of the definition, in words; ``None`` where they are
    the same."""
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
    type_ = c_type(have.type)
    constant = have.type.startswith("const ") or have.type.split("*")[0].rstrip().endswith(" const")
    return type_.is_dtype(want.dtype, want.pointer) and (not want.pointer or constant == (want.role == "in"))


def describe_parameter(parameter: Parameter) -> str:
    """The parameter as it is written in a spec."""
    dtype = parameter.dtype.removesuffix("*")
    return f"{parameter.name}: {parameter.role} {dtype}{'*' if parameter.pointer else ''}"


def compare_launchers(declared: Mapping[str, ForeignFunction], launchers: Mapping[str, Kernel]) -> LauncherDrift:
    """The differences between the launchers that a checkout declares and those of the specs; none where the specs have
    none."""
    if not launchers:
        return LauncherDrift()
    common = [(launcher, declared[name]) for name, launcher in launchers.items() if name in declared]
    return LauncherDrift(
        tuple(one for name, one in declared.items() if name not in launchers),
        tuple(launcher for name, launcher in launchers.items() if name not in declared),
        tuple((one, said) for launcher, one in common if (said := _difference(launcher, one)) is not None),
    )


def _difference(launcher: Kernel, declared: ForeignFunction) -> str | None:
    """The first difference in words, or ``None``."""
    for position, (want, (name, kind)) in enumerate(zip(launcher.params, declared.params, strict=False), 1):
        if not _is_like(kind, want):
            return f"parameter {position} is {name}: {kind}, the spec has {describe_parameter(want)}"
        if name != want.name:
            return f"parameter {position} is called {name}, in the spec {want.name}"
    if len(launcher.params) != len(declared.params):
        return f"{len(declared.params)} parameters, the spec has {len(launcher.params)}"
    return None


def _is_like(kind: str, want: Parameter) -> bool:
    """Whether an argument of the Rust type ``kind`` is one for ``want``, as far as the type is known."""
    pointee = next((kind.removeprefix(one) for one in _POINTERS if kind.startswith(one)), None)
    number = _SCALARS.get(_last(kind))
    if want.role == "stream":
        return pointee is not None or number is None or dtype(number).size == _WIDE
    if pointee is not None:
        if not want.pointer or kind.startswith("*const ") != (want.role == "in"):
            return False
        inside = _SCALARS.get(_last(pointee))
        return want.dtype not in DTYPES or _last(pointee) == _VOID or inside is None or _alike(inside, want.dtype)
    return not want.pointer and (number is None or _alike(number, want.dtype))


def _alike(one: str, other: str) -> bool:
    """Whether two dtypes are alike; ``void*`` is like any, for it is bytes in a packed format."""
    if "void*" in (one, other):
        return True
    return dtype(one).size == dtype(other).size and (dtype(one).kind == "float") == (dtype(other).kind == "float")


def _last(path: str) -> str:
    return path.rpartition("::")[2].strip()
