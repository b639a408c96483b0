"""A definition that does not compile costs the kernels that need it; no other line of the source changes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conformance.port.compiling.declared_names import declared_names
from conformance.port.compiling.diagnostics import ErrorPlace, diagnostics
from conformance.port.compiling.partly import Broken, TextRefused, compile_partly
from conformance.port.definitions.preprocess import tokenize
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.toolchains.host import find_toolchain

KERNELS = "#define KERNEL(NAME, T, E) \\\n  __global__ void NAME(T *p) { T x = *p; *p = E; }\n"
SHIM = "#define __global__\n#define __device__\n"
HEADER = """#pragma once
template <class T> __device__ T nope(T x) { return x.nope(); }
template <class T> __device__ T same(T x) { return x; }
"""

Partly = Callable[..., tuple[str, dict[str, Broken]] | None]


@pytest.fixture
def partly(tmp_path: Path) -> Partly:
    """What is left of ``k.hip`` with the given text, as text, by the host's compiler."""
    folder = tmp_path / "port"
    folder.mkdir()
    source = KernelSource(folder / "k.hip", folder)
    (folder / "nope.h").write_text(HEADER)
    command = [*find_toolchain(links_standard_library=False).compiler, "-x", "c++", "-std=c++17", "-w", "-fsyntax-only"]
    if "clang" not in subprocess.run([*command[:1], "--version"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("NOTHING TAKEN OUT OF HEADERS: the compiler is not clang, which reads files in place of others")

    def compile_text(text: str, words: Sequence[str], seconds: float) -> str:
        copy = tmp_path / "copy.cpp"
        copy.write_text(f'{SHIM}#line 1 "{source.label}"\n{text}')
        done = subprocess.run(
            [*command, f"-I{folder}", "-isystem", str(tmp_path / "theirs"), *words, str(copy)],
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        if done.returncode:
            raise TextRefused(done.stderr)
        return text

    def run(text: str) -> tuple[str, dict[str, Broken]] | None:
        source.path.write_text(text)
        with pytest.raises(TextRefused) as refused:
            compile_text(text, (), 60)
        return compile_partly(source, BuildOptions(), refused.value.log, compile_text, 60)

    return run


def rest(found: tuple[str, dict[str, Broken]] | None) -> dict[str, Broken]:
    assert found is not None
    return found[1]


def test_one_of_ten_and_nothing_else_changes(partly: Partly) -> None:
    kernels = [f"__global__ void k{i}(float *p) {{\n  p[0] = {i};  // as it is\n}}\n" for i in range(10)]
    kernels[4] = (
        "__global__ void k4(float *p) { /* a\ncomment */\n#define LATER 3\n#pragma unroll\n  p[0] = no_such;\n}\n"
    )
    kernels[7] = "__global__ void k7(float *p) { p[0] = LATER; }\n"
    text, broken = partly("".join(kernels)) or ("", {})
    assert broken == {"k4": Broken("port/k.hip:13", "port/k.hip:17:10: error: use of undeclared identifier 'no_such'")}
    cut = "  /* a\ncomment */\n#define LATER 3\n    \n\n\n"
    before, _, behind = "".join(kernels).partition(kernels[4])
    assert text.count("\n") == "".join(kernels).count("\n")
    assert (text.startswith(before), text.endswith(behind)) == (True, True)
    assert text[len(before) : -len(behind)].split() == cut.split()


def test_a_use_of_a_macro_over_several_lines(partly: Partly) -> None:
    text = f"{KERNELS}KERNEL(one, float, x)\nKERNEL(two, float,\n       no_such(x))\nKERNEL(three, float, -x)\n"
    assert rest(partly(text)).keys() == {"two"}
    assert rest(partly(text))["two"].place == "port/k.hip:4"
    assert rest(partly(text))["two"].why.startswith("port/k.hip:5:8: error: ")


def test_those_who_use_a_broken_function_are_broken_whatever_else_has_its_name(partly: Partly) -> None:
    helpers = (
        "__device__ double helper(double x) { return x; }\n"
        "__device__ float helper(float x) {\n  return no_such;\n}\n"
        "namespace inner { __device__ float through(float x) { return helper(x); } }\n"
    )
    kernels = "KERNEL(a, float, helper(x))\nKERNEL(b, double, helper(x))\nKERNEL(c, float, inner::through(x))\n"
    broken = rest(partly(KERNELS + helpers + kernels))
    why = "port/k.hip:5:10: error: use of undeclared identifier 'no_such' (in helper, which it uses)"
    assert broken == {"a": Broken("port/k.hip:8", why), "c": Broken("port/k.hip:10", why)}


@pytest.mark.parametrize(
    "helper",
    [
        "template <> struct Unit<float> : NoSuch { static constexpr float one = 1; };",
        "template <> __device__ float unit<float>(NoSuch x) { return 1; }",
    ],
    ids=["a class", "a function whose head is broken"],
)
def test_a_broken_specialisation_is_not_replaced_by_the_general_one(partly: Partly, helper: str) -> None:
    general = (
        "template <class T> struct Unit { static constexpr T one = 2; };\n"
        "template <class T> __device__ T unit(T x) { return Unit<T>::one; }\n"
    )
    kernels = "KERNEL(a, float, unit(x) * Unit<T>::one)\nKERNEL(b, float, x)\n"
    broken = rest(partly(f"{KERNELS}{general}{helper}\n#define T float\n{kernels}"))
    assert broken.keys() == {"a"}


@pytest.mark.slow("compiles a small port")
@pytest.mark.parametrize(
    "broken",
    [
        "enum Mode { A = no_such, B = 2 };",
        "constexpr int A = no_such, B = 2;",
        "static const NoSuch A[] = {1, 2},\n  *B = A;",
        "struct { NoSuch x; } A, B;",
        "typedef NoSuch A, B;",
        "using no::A, no::B;",
        "auto [A, B] = no_such;",
        "constexpr int A{no_such},\n  B{2};",
        "enum { A = no_such }; using namespace elsewhere;",
        "union { NoSuch A; int B; };",
        "template <> struct std::common_type<no_such> { using type = int; };",
    ],
)
def test_what_uses_a_removed_name_does_not_find_another_of_that_name(partly: Partly, broken: str) -> None:
    outer = "#include <type_traits>\nconst int B = 1;\nnamespace elsewhere { const int B = 3; }\n"
    kernels = "namespace ours {\n%s\nKERNEL(a, float, x * B)\nKERNEL(b, float, x)\nKERNEL(c, float, no_such)\n}\n"
    found = partly(KERNELS + outer + kernels % broken)
    assert found is None or found[1].keys() == {"a", "c"}


@pytest.mark.parametrize(
    ("declaration", "names"),
    [
        (
            "enum Mode : int { A = no<1, 2>::x, B = A + 1 } mode, *other = f<a, b>(3);",
            {"A", "B", "Mode", "mode", "other"},
        ),
        ("enum class Mode { A, B };", {"Mode"}),
        ("static __device__ const float t[] = {1, 2}, *p = f(3, 4), u{5};", {"t", "p", "u"}),
        ("std::map<int, half> m = no, n;", {"m", "n"}),
        ("typedef struct Tag { int x; } S, *PS;", {"Tag", "S", "PS"}),
        ("typedef float (*fn)(half);", {"fn"}),
        ("template <class T = int> using Y = no<T>;", {"Y"}),
        ("template <class T> constexpr T pi = T(no), tau = 2;", {"pi", "tau"}),
        ("using a::B, c::D;", {"B", "D"}),
        ("void (*g(int))(float);", {"g"}),
        ("int A::x = no;", {"x"}),
        ("struct S { friend void f(S); };", None),
        ("using enum E;", None),
        ("float operator+(A a, A b);", None),
        ("MACRO(x);", None),
    ],
)
def test_the_names_of_a_declaration(declaration: str, names: set[str] | None) -> None:
    assert declared_names([token.text for token in tokenize(declaration, "k.hip")]) == names


def test_an_overload_is_not_refused_by_a_type_that_a_vendors_header_has_too(partly: Partly, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/real.h").write_text("using real = double;\n")
    helpers = (
        "#include <real.h>\nnamespace ours {\nusing real = NoSuch;\n"
        "__device__ float half_of(real x) { return x / 2; }\n__device__ float half_of(float x) { return x; }\n"
    )
    kernels = "KERNEL(a, float, half_of(x))\nKERNEL(b, float, x)\n}\n"
    assert rest(partly(KERNELS + helpers + kernels)).keys() == {"a"}


def test_a_template_that_asks_for_what_is_broken_does_not_go_another_way(partly: Partly) -> None:
    helpers = (
        "__device__ float helper(float x) { return no_such; }\n"
        "template <class T> __device__ auto twice(T x, int) -> decltype(helper(x)) { return helper(x) * 2; }\n"
        "template <class T> __device__ T twice(T x, ...) { return x; }\n"
    )
    helpers += "template <class T> __device__ T thrice(T x) { return sizeof(T) == 4 ? helper(x) * 3 : x; }\n"
    helpers += "template <class T> __device__ T thrice(T *x) { return *x; }\n"
    kernels = "KERNEL(a, float, twice(x, 0))\nKERNEL(b, float, thrice(&x))\n"
    assert rest(partly(KERNELS + helpers + kernels)).keys() == {"a"}


def test_kernels_of_one_macro_use_say_that_they_go_together(partly: Partly) -> None:
    text = (
        f"{KERNELS}#define BOTH(T, E) KERNEL(a_##T, T, x) KERNEL(b_##T, T, E)\nBOTH(float, no_such)\nBOTH(double, x)\n"
    )
    broken = rest(partly(text))
    assert broken.keys() == {"a_float", "b_float"}
    assert "(defined by the same macro use as b_float, and none" in broken["a_float"].why


def test_who_instantiates_a_template_is_broken_and_not_the_template(partly: Partly) -> None:
    kernels = "KERNEL(a, float, nope(x))\nKERNEL(b, float, same(x))\nKERNEL(c, float, nope(x))\nKERNEL(d, double, x)\n"
    broken = rest(partly(f'#include "nope.h"\n{KERNELS}{kernels}'))
    assert broken.keys() == {"a", "c"}
    assert broken["a"].why.startswith("port/nope.h:2:")
    assert broken["a"].why.endswith("(needed at port/k.hip:4)")


def test_an_error_in_a_header_that_is_not_the_ports_has_the_users_line(partly: Partly, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/wide.h").write_text(
        'template <class T> void wide(T) { static_assert(sizeof(T) == 8, "no"); }\n'
    )
    text = f"#include <wide.h>\n{KERNELS}"
    broken = rest(partly(f"{text}KERNEL(a, double, (wide(x), x))\nKERNEL(b, float, (wide(x), x))\n"))
    assert broken.keys() == {"b"}
    assert broken["b"].why.startswith("port/k.hip:5: error: static assertion failed")


def test_a_function_is_named_where_it_is_a_template_argument(partly: Partly) -> None:
    helpers = "__device__ float h(float x) { return no_such; }\n"
    helpers += "template <float (*F)(float)> __device__ float by(float x) { return F(x); }\n"
    broken = rest(partly(f"{KERNELS}{helpers}KERNEL(a, float, by<h>(x))\nKERNEL(b, float, x)\n"))
    assert broken.keys() == {"a"}
    assert broken["a"].why.endswith("(in h, which it uses)")


def test_a_header_is_read_without_what_is_broken(partly: Partly, tmp_path: Path) -> None:
    (tmp_path / "port/nope.h").write_text(HEADER.replace("{ return x; }", "{ return no_such; }"))
    kernels = "KERNEL(a, float, same(x))\nKERNEL(b, float, x)\n"
    broken = rest(partly(f'#include "nope.h"\n{KERNELS}{kernels}'))
    assert broken.keys() == {"a"}
    assert broken["a"].why.startswith("port/nope.h:3:")


@pytest.mark.parametrize(
    "text",
    [
        '#include "no_such.h"\n__global__ void a() {}\n',
        "__global__ void a() { no_such(); \n__global__ void b() {}\n",
        "no_such here;\n__global__ void a() {}\n",
        'static_assert(sizeof(int) == 5, "");\n__global__ void a() {}\n',
        "#error not for you\n__global__ void a() {}\n",
    ],
    ids=["a header that is missing", "a brace that is missing", "needed by no kernel", "an assertion", "an #error"],
)
@pytest.mark.slow("tries to compile each text in parts")
def test_what_leads_to_no_kernel_costs_the_file(partly: Partly, text: str) -> None:
    assert partly(text) is None


NVRTC = """\
kernels/k.cu(3): error: identifier "no_such" is undefined
    float x = no_such;
              ^

kernels/k.cu(9): error: no suitable conversion function from "S" to "float" exists
          detected during instantiation of "T twice(T) [with T=S]" at line 12

/port/h.cuh(4): error: expression must have class type
          detected during:
            instantiation of "T nope(T) [with T=float]" at line 20 of "/port/i.cuh"
            instantiation of "T outer(T) [with T=float]" at line 31 of kernels/k.cu

k.cu(1): catastrophic error: cannot open source file "no_such.h"
"""
GCC = """\
k.hip: In function 'void a(float*)':
k.hip:2:15: error: 'no_such' was not declared in this scope
k.hip:5:1: note: in expansion of macro 'KERNEL'
h.h: In instantiation of 'T nope(T) [with T = float]':
k.hip:10:13:   required from here
h.h:1:55: error: request for member 'nope' in 'x'
"""


@pytest.mark.parametrize(
    ("log", "places"),
    [
        (
            NVRTC,
            [
                [("kernels/k.cu", 3)],
                [("kernels/k.cu", 9), ("kernels/k.cu", 12)],
                [("/port/h.cuh", 4), ("/port/i.cuh", 20), ("kernels/k.cu", 31)],
                [("k.cu", 1)],
            ],
        ),
        (GCC, [[("k.hip", 2), ("k.hip", 5)], [("h.h", 1), ("k.hip", 10)]]),
    ],
    ids=["NVRTC", "g++"],
)
def test_other_compilers_say_where_too(log: str, places: list[list[tuple[str, int]]]) -> None:
    found = diagnostics(log)
    assert [list(each.places) for each in found] == [[ErrorPlace(*place) for place in each] for each in places]
    assert [each.stops for each in found] == [False] * (len(found) - 1) + ["catastrophic" in log]


def test_an_unknown_type_is_told_rather_than_the_bracket_that_is_missed_for_it() -> None:
    log = (
        "kernels/moe.hip:4:52: error: expected ')'\n"
        "kernels/moe.hip:4:39: note: to match this '('\n"
        "kernels/moe.hip:4:40: error: use of undeclared identifier 'cudaStream_t'\n"
        "kernels/moe.hip:9:3: error: expected ';'\n"
        "kernels/moe.hip:12:3: error: unknown type name 'half3'\n"
    )
    said = [each.text.partition("error: ")[2] for each in diagnostics(log)]
    assert said[:2] == ["use of undeclared identifier 'cudaStream_t'", "expected ')'"]
    assert said[2:] == ["expected ';'", "unknown type name 'half3'"]
