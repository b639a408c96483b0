"""The linked launchers that a Candle checkout declares in ffi.rs, against the specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.dtypes import DTYPES, dtype
from conformance.spec.kernel import Kernel, Parameter
from conformance.upstream.wiring.syntax import line_of, parse_file, text_of, walk

FILE = "ffi.rs"
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
class Declaration:
    """A foreign function: its name, the line that declares it, and its parameters as pairs of name and type."""

    name: str
    line: int
    params: tuple[tuple[str, str], ...]

    @property
    def place(self) -> str:
        """``ffi.rs:LINE``."""
        return f"{FILE}:{self.line}"


@dataclass(frozen=True)
class LauncherDrift:
    """Launchers that only one of checkout and specs has, and those whose parameters differ, each with how."""

    new: tuple[Declaration, ...] = ()
    gone: tuple[Kernel, ...] = ()
    changed: tuple[tuple[Declaration, str], ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.new or self.gone or self.changed)


def declared_launchers(folder: Path) -> dict[str, Declaration]:
    """The foreign functions of ffi.rs in ``folder``, by name; none without the file. Raises ``RustError``."""
    file = folder / FILE
    if not file.is_file():
        return {}
    found: dict[str, Declaration] = {}
    for node in walk(parse_file(file)):
        if node.type != "function_signature_item":
            continue
        name = text_of(node.child_by_field_name("name"))
        listed = node.child_by_field_name("parameters")
        params = [] if listed is None else [one for one in listed.named_children if one.type == "parameter"]
        pairs = ((text_of(one.child_by_field_name(part)) for part in ("pattern", "type")) for one in params)
        found[name] = Declaration(name, line_of(node), tuple((word, " ".join(kind.split())) for word, kind in pairs))
    return found


def compare_launchers(declared: Mapping[str, Declaration], launchers: Mapping[str, Kernel]) -> LauncherDrift:
    """What ``declared`` has against ``launchers``, those of the specs; nothing where the specs have none."""
    if not launchers:
        return LauncherDrift()
    common = [(launcher, declared[name]) for name, launcher in launchers.items() if name in declared]
    return LauncherDrift(
        tuple(one for name, one in declared.items() if name not in launchers),
        tuple(launcher for name, launcher in launchers.items() if name not in declared),
        tuple((one, said) for launcher, one in common if (said := _difference(launcher, one)) is not None),
    )


def _difference(launcher: Kernel, declared: Declaration) -> str | None:
    """The first difference in words, or ``None``."""
    for position, (want, (name, kind)) in enumerate(zip(launcher.params, declared.params, strict=False), 1):
        if not _is_like(kind, want):
            return f"parameter {position} is {name}: {kind}, the spec has {_spelled(want)}"
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


def _spelled(want: Parameter) -> str:
    return f"{want.name}: {want.role} {want.dtype.removesuffix('*')}{'*' if want.pointer else ''}"
