"""What the extraction of kernels finds, on small sources with one construct each."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.port.definitions.parameters import c_type
from conformance.port.definitions.preprocess import CUDA_DEFINES, HIP_DEFINES
from conformance.port.definitions.scan import Definition, scan_file
from conformance.port.definitions.source_text import ScanError


def kernels(folder: Path, text: str, **options: object) -> list[Definition]:
    path = folder / "source.cu"
    path.write_text(text)
    return scan_file(path, **options).kernels  # type: ignore[arg-type]


def only(folder: Path, text: str) -> Definition:
    (found,) = kernels(folder, text)
    return found


def test_name_place_and_parameters(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        '#include <hip/hip_runtime.h>\n\nextern "C" __global__ void\n'
        "twice(const unsigned int n,\n      const float *__restrict__ x, float* y) {\n  y[n] = 2 * x[n];\n}\n",
    )
    assert (found.name, found.line, found.end_line, found.extern_c) == ("twice", 4, 7, True)
    assert found.file.name == "source.cu"
    assert found.params == (("const unsigned int", "n"), ("const float *", "x"), ("float *", "y"))


def test_nested_macros_give_the_line_of_their_use(tmp_path: Path) -> None:
    found = kernels(
        tmp_path,
        '#define ONE(T, NAME) \\\n  extern "C" __global__ void NAME(T *x) { \\\n    x[0] = T(); }\n'
        "#define BOTH(T, TAG) \\\n  ONE(T, first_##TAG) \\\n  ONE(T, second_##TAG)\n\n"
        "BOTH(float, f32)\nONE(\n  double,\n  third_f64)\nONE(int, fourth)\n",
    )
    assert [(one.name, one.line, one.end_line) for one in found] == [
        ("first_f32", 8, 8),
        ("second_f32", 8, 8),
        ("third_f64", 9, 9),
        ("fourth", 12, 12),
    ]
    assert found[2].params == (("double *", "x"),)


def test_a_kernel_of_an_included_file_is_placed_there(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "part.cuh").write_text('\nextern "C" __global__ void part(int n) {}\n')
    found = kernels(tmp_path, '#include "part.cuh"\n', include_dirs=[tmp_path / "inner"])
    assert [(one.name, one.file.name, one.line) for one in found] == [("part", "part.cuh", 2)]


@pytest.mark.parametrize(
    ("text", "extern_c"),
    [
        ("__global__ void k(int n) {}", False),
        ('extern "C" { __global__ void k(int n) {} }', True),
        ('extern "C" { namespace a { __global__ void k(int n) {} } }', True),
        ('extern "C" { extern "C++" { __global__ void k(int n) {} } }', False),
        ("namespace a::b { __global__ void k(int n) {} }", False),
        ('extern "C" __attribute__((used)) __launch_bounds__(32 * (2)) void __global__ k(int n) {}', True),
        ('extern "C" [[maybe_unused]] __global__ void __launch_bounds__(256) k(int n) {}', True),
        ('struct s { int a[2]; }; extern "C" static __global__ void k(int n) {}', True),
        ('extern "C" __global__ void k(int n);\nextern "C" __global__ void k(int n) {}', True),
        ('extern "C" __global__ void k(int n);\n__global__ void k(int n) {}', True),
        ('extern "C" { __global__ void k(int); }\n__global__ void k(int n) {}', True),
        ('extern "C" void other(int k);\n__global__ void k(int n) {}', False),
    ],
)
def test_linkage(tmp_path: Path, text: str, extern_c: bool) -> None:
    found = only(tmp_path, text)
    assert (found.name, found.extern_c, found.template) == ("k", extern_c, False)
    assert found.params == (("int", "n"),)


def test_template_parameters_without_an_end_define_nothing(tmp_path: Path) -> None:
    (tmp_path / "cut.hip").write_text("template <type __global__ void k(int *p) { *p = 1; }")
    assert scan_file(tmp_path / "cut.hip").kernels == []


def test_a_template_is_marked(tmp_path: Path) -> None:
    found = only(tmp_path, "template <typename T, int N = (1 > 0)> __global__ void k(T *x) {}")
    assert (found.name, found.template, found.extern_c) == ("k", True, False)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("", ()),
        ("void", ()),
        ("const size_t", (("const size_t", ""),)),
        ("const unsigned int", (("const unsigned int", ""),)),
        ("float const *x = nullptr, int n = f(1, 2)", (("float const *", "x"), ("int", "n"))),
        ("const float x[16], float *a[]", (("const float *", "x"), ("float * *", "a"))),
        ("pair<int, float> *p, a::b c", (("pair<int, float> *", "p"), ("a::b", "c"))),
        ("real *x, tiny y", (("float *", "x"), ("unsigned char", "y"))),
        ("struct block *b, __attribute__((aligned(4))) int n", (("block *", "b"), ("int", "n"))),
    ],
)
def test_parameter_lists(tmp_path: Path, declared: str, expected: tuple[tuple[str, str], ...]) -> None:
    text = (
        f"typedef float real;\nusing byte_ = unsigned char;\nusing tiny = byte_;\n__global__ void k({declared}) {{}}\n"
    )
    found = only(tmp_path, text).params
    assert [(p.type.replace("* *", "**"), p.name) for p in found] == [
        (kind.replace("* *", "**"), name) for kind, name in expected
    ]


def test_text_in_bodies_is_no_code(tmp_path: Path) -> None:
    found = kernels(
        tmp_path,
        "__device__ const char *a = \"} __global__ void no() {\";\n__device__ char b = '{';\n"
        '__device__ void asm_() { asm volatile("{ .reg .b32 t; }"); int x[2]; x[x[0]] = 1\'000; }\n'
        '__device__ const char *r = R"x(}\n"{)x";\n// __global__ void no() {}\n'
        '#pragma unroll\nextern "C" __global__ void yes() { _Pragma("unroll") for (;;) {} }\n',
    )
    assert [(one.name, one.line) for one in found] == [("yes", 8)]


def test_guards_follow_the_defines(tmp_path: Path) -> None:
    text = "#if __CUDA_ARCH__ >= 890\n__global__ void k() {}\n#endif\n#ifdef MINE\n__global__ void mine() {}\n#endif\n"
    assert [one.name for one in kernels(tmp_path, text, defines=CUDA_DEFINES)] == ["k"]
    assert kernels(tmp_path, text, defines=HIP_DEFINES) == []
    assert [one.name for one in kernels(tmp_path, text, defines=["MINE=1"])] == ["mine"]


def test_a_forced_header_comes_first(tmp_path: Path) -> None:
    (tmp_path / "shim.h").write_text("#define KERNEL __global__ void\n")
    found = kernels(tmp_path, "KERNEL k() {}\n", forced=[tmp_path / "shim.h"])
    assert [one.name for one in found] == ["k"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("__global__ void k() {\n", 1, "never closed"),
        ("\n}\n", 2, "nothing opens"),
        ("\n__global__ void k(int n] {}\n", 2, "a ] where the ( of line 2 is still open"),
        ("\n\n#error stop here\n", 3, "stop here"),
        ('\n#include "own.cuh"\n', 2, "include directory"),
        ("namespace a {\n", 1, "never closed"),
        ("int a\n", 1, "does not end"),
    ],
)
def test_broken_sources(tmp_path: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(ScanError, match=r"source\.cu") as caught:
        kernels(tmp_path, text)
    assert caught.value.line == line
    assert problem in str(caught.value)


def test_types_as_dtypes() -> None:
    assert c_type("const __nv_bfloat16 *").is_dtype("bf16", True)
    assert c_type("size_t").is_dtype("size_t", False)
    assert not c_type("int").is_dtype("size_t", False)
    assert not c_type("float *").is_dtype("f32", False)
    assert not c_type("const uint16_t *").is_dtype("f16", True)
    assert c_type("void *").is_dtype("void*", True)
