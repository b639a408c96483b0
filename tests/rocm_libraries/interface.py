"""What our runtimes declare of the HIP API, read from their sources, as C++ that a compiler holds against AMD's own
headers.

AMD's types and ours cannot be compared for being the same: ours declare ``int`` for enums and ``void *`` for handles.
What must agree is what a caller relies on: the number of arguments, their kinds and sizes, the numbers of enumerators,
and where the fields of a struct lie.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.rocm_libraries.box import ROOT

RUNTIMES = ROOT / "conformance/runtimes"
CPU, CUDA, ISA = (RUNTIMES / name / "runtime" for name in ("cpu", "cuda", "isa"))
HIPRTC = RUNTIMES / "cpu/hiprtc/api.cpp"
"""Of both runtimes."""

OWN = ("hipcpu", "hipcuda", "hipisa")
"""Functions whose names begin so are not of HIP."""

NOT_PUBLIC = {"hipGetDeviceProperties": "the entry point of programs that were compiled before HIP 6"}

NEWER = ("hipModuleGetFunctionCount",)
"""Functions that HIP 6 lacks."""

OVERLOADED = {
    name: f"hipError_t (*)({parameters})"
    for name, parameters in {
        "hipMallocAsync": "void **, size_t, hipStream_t",
        "hipGetSymbolAddress": "void **, const void *",
        "hipGetSymbolSize": "size_t *, const void *",
        "hipMemcpyToSymbol": "const void *, const void *, size_t, size_t, hipMemcpyKind",
        "hipMemcpyFromSymbol": "void *, const void *, size_t, size_t, hipMemcpyKind",
        "hipMemcpyToSymbolAsync": "const void *, const void *, size_t, size_t, hipMemcpyKind, hipStream_t",
        "hipMemcpyFromSymbolAsync": "void *, const void *, size_t, size_t, hipMemcpyKind, hipStream_t",
        "hipOccupancyMaxActiveBlocksPerMultiprocessor": "int *, const void *, int, size_t",
        "hipOccupancyMaxPotentialBlockSize": "int *, int *, const void *, size_t, int",
    }.items()
}
"""C functions that AMD's headers overload in C++, with the type of the one that the library exports."""

COMPARED = """
#include <cstddef>
#include <cstdint>
#include <type_traits>
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#undef hipGetDeviceProperties
#undef hipChooseDevice

enum Kind { nothing, pointer, floating, structure, number };
template <class T>
constexpr Kind kind = std::is_void_v<T>             ? nothing
                      : std::is_pointer_v<T>        ? pointer
                      : std::is_floating_point_v<T> ? floating
                      : std::is_class_v<T>          ? structure
                                                    : number;
// A pointer to void stands for any; handles are pointers to types that only AMD has.
template <class Ours, class Theirs>
constexpr bool alike() {
  if constexpr (kind<Ours> != kind<Theirs>) {
    return false;
  } else if constexpr (kind<Ours> == pointer) {
    using O = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    using T = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    if constexpr (kind<O> == nothing || kind<T> == nothing || kind<T> == structure) {
      return kind<T> != pointer;
    } else {
      return alike<O, T>();
    }
  } else if constexpr (kind<Ours> == nothing) {
    return true;
  } else {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
  }
}
template <class O, class... Ours, class T, class... Theirs>
constexpr bool callable(O (*)(Ours...), T (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
    return false;
  } else {
    return alike<O, T>() && (alike<Ours, Theirs>() && ...);
  }
}
// A name that AMD's headers do not declare is found here.
struct Missing;
namespace missing {}
using namespace missing;
"""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINED = re.compile(r"^(?:SIMT_API|HIP_API|API) ([\w *]+?\b)(hip\w+)\(([^)]*)\)\s*\{", re.MULTILINE)
_FIELD = re.compile(r"\*?\s*(\w+)\s*((?:\[\d+\])*)\s*$")
_STRUCT = r"struct {name} {{(.*?)\n}};"
_ENUM = r"enum {name}(?:: int )?{{(.*?)}};"


def text_of(*places: Path) -> str:
    """The sources in ``places`` without comments."""
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.glob("*.[ch]*")))]
    return "\n".join(_COMMENT.sub("", file.read_text()) for file in files)


def functions(text: str) -> dict[str, tuple[str, str]]:
    """The HIP functions that ``text`` defines: return type and parameters by name."""
    found = {name: (result.strip(), " ".join(given.split())) for result, name, given in _DEFINED.findall(text)}
    return {name: prototype for name, prototype in found.items() if not name.startswith(OWN)}


def enumerators(text: str, name: str) -> dict[str, int]:
    """The enumerators of the enum called ``name`` ("" for the first without a name)."""
    body = re.search(_ENUM.format(name=f"{name} " if name else ""), text, re.DOTALL)
    assert body is not None, name
    numbers: dict[str, int] = {}
    following = 0
    for word in filter(None, (part.strip() for part in body[1].split(","))):
        key, _, value = (part.strip() for part in word.partition("="))
        numbers[key] = int(value) if value else following
        following = numbers[key] + 1
    return numbers


def structure(text: str, name: str) -> str:
    """The body of the struct called ``name``."""
    body = re.search(_STRUCT.format(name=name), text, re.DOTALL)
    assert body is not None, name
    return body[1]


def fields(body: str) -> Iterator[str]:
    """The names of a struct's fields, in order."""
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        for declared in declaration.split(","):
            match = _FIELD.search(declared)
            assert match is not None, declared
            yield match[1]


def check_functions(prototypes: Mapping[str, tuple[str, str]]) -> str:
    """Assertions that each function can be called as AMD declares it."""
    lines = ["namespace ours {", "struct Dim3 {", "  unsigned x, y, z;", "};", "using Shape = Dim3;"]
    lines += [f"{result} {name}({given});" for name, (result, given) in prototypes.items()]
    lines += ["}", "namespace missing {", *(f"void {name}(Missing);" for name in prototypes), "}"]
    for name in [name for name in prototypes if name not in NOT_PUBLIC]:
        theirs = f"static_cast<{OVERLOADED[name]}>(&::{name})" if name in OVERLOADED else f"&::{name}"
        missing = f"std::is_same_v<decltype({theirs}), void (*)(Missing)>"
        if name not in NEWER:
            lines.append(f'static_assert(!{missing}, "{name} is not declared");')
        lines.append(f'static_assert({missing} || callable(&ours::{name}, {theirs}), "{name}");')
    return "\n".join(lines)


def check_numbers(numbers: Mapping[str, int], optional: tuple[str, ...] = ()) -> str:
    """Assertions that AMD's enumerators have our numbers; one that is ``optional`` may be missing."""
    lines = ["namespace missing {", *(f"constexpr int {name} = {numbers[name]};" for name in optional), "}"]
    lines += [f'static_assert(int(::{name}) == {value}, "{name} is not {value}");' for name, value in numbers.items()]
    return "\n".join(lines)


def check_fields(body: str, theirs: str, names: Mapping[str, str]) -> str:
    """Assertions that our struct lies in memory as AMD's ``theirs``; ``names`` are its fields' names by ours."""
    lines = ["namespace ours {", f"struct {theirs}_ {{{body}", "};", "}", f"using Our = ours::{theirs}_;"]
    lines.append(f'static_assert(sizeof(Our) == sizeof({theirs}), "size of {theirs}");')
    for ours, name in names.items():
        lines.append(f'static_assert(offsetof(Our, {ours}) == offsetof({theirs}, {name}), "place of {name}");')
        lines.append(f'static_assert(sizeof(Our::{ours}) == sizeof({theirs}::{name}), "size of {name}");')
    return "\n".join(lines)
