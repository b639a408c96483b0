"""Which kernels a source registers, under which name, and from where."""

from __future__ import annotations

import pytest

from .conftest import SUCCESS, Hiprtc

BODY = "{ *p = 1; }"
# How a kernel may be written -> the names that its module has.
SPELLINGS: dict[str, tuple[str, set[str]]] = {
    "plain": (f'extern "C" __global__ void k(int *p) {BODY}', {"k"}),
    "marker behind the type": (f'extern "C" void __global__ k(int *p) {BODY}', {"k"}),
    "block": (f'extern "C" {{ __global__ void a(int *p) {BODY} __global__ void b(int *p) {BODY} }}', {"a", "b"}),
    "launch bounds before": (f'extern "C" __global__ __launch_bounds__(256) void k(int *p) {BODY}', {"k"}),
    "launch bounds behind the type": (f'extern "C" __global__ void __launch_bounds__(64, 2) k(int *p) {BODY}', {"k"}),
    "launch bounds first": (f'extern "C" __launch_bounds__(64) __global__ void k(int *p) {BODY}', {"k"}),
    "device attribute": (
        f'extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256), used)) void k(int *p) {BODY}',
        {"k"},
    ),
    "standard attribute": (f'extern "C" [[gnu::cold]] __global__ void k(int *p) {BODY}', {"k"}),
    "macro": (
        f'#define OP(T, NAME) extern "C" __global__ void NAME(T *p) {BODY}\nOP(float, a_f32) OP(int, a_i32)',
        {"a_f32", "a_i32"},
    ),
    "pasted": (f'#define OP(T) extern "C" __global__ void k_##T(T *p) {BODY}\nOP(float)', {"k_float"}),
    "continued lines": (f'extern "C" __glo\\\nbal__ void \\\n  k(int *p) \\\n{BODY}', {"k"}),
    "comments": (
        f'// extern "C" __global__ void no(int *p) {BODY}\n/* __global__ void no2() {{}} */ extern "C" /* ( */ '
        f"__global__ /* {'{'} */ void k(int *p) {BODY}",
        {"k"},
    ),
    "strings": (
        'const char *s = "__global__ void no(int) {"; const char *r = R"(} __global__ void no2() { )";\n'
        f"char c = '{{'; int big = 1'000; extern \"C\" __global__ void k(int *p) {BODY}",
        {"k"},
    ),
    "declared first": (f'extern "C" __global__ void k(int *p);\nextern "C" __global__ void k(int *p) {BODY}', {"k"}),
    "declared only": ('extern "C" __global__ void k(int *p);', set()),
    "not compiled": (f'#if 0\nextern "C" __global__ void k(int *p) {BODY}\n#endif', set()),
    "C++ linkage": (f"__global__ void k(int *p, int *q) {BODY}", {"_Z1kPiS_"}),
    "static": (f"static __global__ void k(int *p) {BODY}", {"_ZL1kPi"}),
    "namespace": (
        f"namespace a::b {{ struct T {{}}; __global__ void k(int *p, T *) {BODY} }}",
        {"_ZN1a1b1kEPiPNS0_1TE"},
    ),
    "C linkage in a namespace": (f'namespace a {{ extern "C" __global__ void k(int *p) {BODY} }}', {"k"}),
    "unnamed namespace": (f"namespace {{ __global__ void k(int *p) {BODY} }}", {"_ZN12_GLOBAL__N_11kEPi"}),
    "overloaded": (
        f"__global__ void k(int *p) {BODY} __global__ void k(float *p, int n = int(3), float q[] = nullptr) {BODY}",
        {"_Z1kPi", "_Z1kPfiS_"},
    ),
    "template": (f"template <class T> __global__ void k(T *p) {BODY}", set()),
    "specialisation": (
        "template <class T> __global__ void k(T *p) {}\ntemplate <> __global__ void k<int>(int *p) { *p = 1; }",
        {"_Z1kIiEvPT_"},
    ),
    "instantiation": (
        f"template <class T, int N> __global__ void k(T *p) {BODY}\n"
        "template __global__ void k<float, (3 > 2)>(float *);",
        {"_Z1kIfLi1EEvPT_"},
    ),
    "device functions": (
        "__device__ int f(int x) { return x; } __device__ __noinline__ int g(int x) { return x; }\n"
        'extern "C" __global__ void k(int *p) { *p = f(g(1)); }',
        {"k"},
    ),
    "none": ("__device__ int f(int x) { return x; }", set()),
    "empty": ("", set()),
}


@pytest.mark.nightly("compiles a kernel per function")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_names(hiprtc: Hiprtc, spelling: str) -> None:
    source, expected = SPELLINGS[spelling]
    compiled = hiprtc.compile(source)
    assert compiled.result == SUCCESS, compiled.log
    assert set(compiled.kernels) == expected
    assert compiled.log == ""


MANY = f"""
__device__ int seen;
template <class T> __device__ T twice(T x) {{ return x + x; }}
template <class T> __global__ void any(T *p) {{ *p = twice(*p); }}
template __global__ void any<float>(float *);
template <> __global__ void any<int>(int *p) {BODY}
__global__ void plain(int *p) {BODY}
static __global__ void own(int *p) {BODY}
namespace n {{ __global__ void inner(int *p, int n = 3) {BODY} }}
extern "C" __global__ void a(int *p);
extern "C" {{ __device__ __noinline__ int f(int x) {{ return x; }}
__global__ __noinline__ void a(int *p) {{ *p = f(1); }} }}
extern "C" void __global__ b(int *p) {{ __shared__ int s[4]; s[0] = f(2); *p = s[0]; }}
extern "C" __launch_bounds__(64) __global__ inline void c(int *p) {BODY}
extern "C" __global__ void launches(int *p) {{ a(p); }}
"""


@pytest.mark.nightly("compiles a source per row")
@pytest.mark.parametrize(
    ("only", "named", "emitted"),
    [("a", {"a"}, {"a", "f"}), ("b,c", {"b", "c"}, {"b", "c", "f"}), ("launches", {"launches"}, {"launches", "a"})],
)
def test_of_the_kernels_that_are_asked_for_alone_there_is_code(
    hiprtc: Hiprtc, only: str, named: set[str], emitted: set[str]
) -> None:
    compiled = hiprtc.compile(MANY, f"-DSIMT_ONLY={only}")
    assert compiled.result == SUCCESS, compiled.log
    assert set(compiled.kernels) == named
    kernels = {"a", "b", "c", "launches"}
    symbols = {name for name in kernels if f"\0{name}\0".encode() in compiled.code}
    assert symbols >= named
    assert symbols <= emitted & kernels
    whole = hiprtc.compile(MANY)
    assert {name: compiled.kernels[name] for name in named} == {name: whole.kernels[name] for name in named}


def test_no_kernel_is_there_where_none_of_the_names_is_one(hiprtc: Hiprtc) -> None:
    compiled = hiprtc.compile(MANY, "-DSIMT_ONLY=f,nobody")
    assert (compiled.result, compiled.kernels) == (SUCCESS, {})


def test_parameters_and_places_come_from_the_compiler(hiprtc: Hiprtc) -> None:
    source = (
        "#include <hip/hip_runtime.h>\n"
        "struct Pair { double a; char b; };\n"
        "#define ONE(T) \\\n"
        '  extern "C" __global__ void one_##T(const T *__restrict__ in, T *out, size_t n, Pair pair) {}\n'
        "\n"
        "ONE(float)\n"
    )
    compiled = hiprtc.compile(source, name="folder/affine.hip")
    kernel = compiled.kernels["one_float"]
    assert kernel.sizes == (8, 8, 8, 16)
    assert kernel.types[:3] == ("float const*", "float*", "unsigned long")
    assert (kernel.file, kernel.line) == ("folder/affine.hip", 6)


def test_kernels_of_an_included_header_name_that_file(hiprtc: Hiprtc) -> None:
    header = f'\nextern "C" __global__ void inner(int *p) {BODY}\n'
    compiled = hiprtc.compile(
        f'#include "lib/inner.h"\n\nextern "C" __global__ void outer(int *p) {BODY}', headers={"lib/inner.h": header}
    )
    assert compiled.kernels["inner"].line == 2
    assert compiled.kernels["inner"].file.endswith("lib/inner.h")
    assert (compiled.kernels["outer"].file, compiled.kernels["outer"].line) == ("user.hip", 3)


def test_name_expressions(hiprtc: Hiprtc) -> None:
    source = """
        namespace n { template <class T, int N> __global__ void fill(T *p) { *p = N; } }
        __global__ void plain(float *p) { *p = 1; }
        extern "C" __global__ void c(float *p) { *p = 1; }
    """
    expressions = ("n::fill<float, 3>", "&n::fill<int, 4>", "plain", "c")
    compiled = hiprtc.compile(source, expressions=expressions)
    assert compiled.lowered == {
        "n::fill<float, 3>": "_ZN1n4fillIfLi3EEEvPT_",
        "&n::fill<int, 4>": "_ZN1n4fillIiLi4EEEvPT_",
        "plain": "_Z5plainPf",
        "c": "c",
    }
    assert set(compiled.kernels) == {name for name in compiled.lowered.values() if name is not None}


def test_dynamic_shared_memory_in_every_place(hiprtc: Hiprtc) -> None:
    source = """
        extern __shared__ unsigned char bytes[];
        extern "C" __global__ void a(float *p) { float *f = reinterpret_cast<float *>(bytes); *p = f[0] + bytes[1]; }
        extern "C" __global__ void b(double *p) { extern __shared__ __align__(16) double d[]; *p = d[threadIdx.x]; }
        template <class T> __device__ T *room() {
          extern __shared__ __attribute__((aligned(16))) char all[];
          return (T *)all;
        }
        extern "C" __global__ void c(int *p) { HIP_DYNAMIC_SHARED(int, mine) *p = mine[0] + *room<int>(); }
        extern "C" __global__ void d(int *p) { extern __shared__ int rows[][4]; *p = rows[1][2]; }
    """
    compiled = hiprtc.compile(source)
    assert compiled.result == SUCCESS, compiled.log
    assert set(compiled.kernels) == {"a", "b", "c", "d"}


def test_functions_that_a_newer_c_library_declares_do_not_clash(hiprtc: Hiprtc) -> None:
    """glibc 2.41 and 2.42 declare functions of HIP in <math.h>."""
    names = ("sinpi", "cospi", "rsqrt")
    declared = "".join(f"double {name}(double) noexcept(true); float {name}f(float) noexcept(true);" for name in names)
    used = " + ".join(f"{name}(d[1]) + {name}f(x[1]) + rsqrt(x[1])" for name in names)
    source = f'extern "C" {{{declared}}} extern "C" __global__ void k(float *x, double *d) {{ d[0] = {used}; }}'
    compiled = hiprtc.compile(source)
    assert compiled.result == SUCCESS, compiled.log


@pytest.mark.slow("compiles a source per row")
def test_an_included_standard_library_does_not_clash(hiprtc: Hiprtc) -> None:
    source = """
        #include <algorithm>
        #include <cassert>
        #include <cmath>
        #include <cstdio>
        #include <cstdlib>
        #include <limits>
        #include <math.h>
        extern "C" __global__ void k(float *x, double *d, int *n) {
          x[0] = std::exp(x[1]) + exp(x[2]) + std::max(x[0], x[1]) + max(x[0], x[1]) + abs(x[0]);
          x[1] = std::isnan(x[1]) + isnan(x[2]);
          d[0] = pow(d[0], 2) + fmax(d[0], d[1]) + std::abs(d[0]) + std::numeric_limits<float>::infinity();
          n[0] = abs(n[1]) + min(n[2], 3);
          assert(n[0] > 0);
          printf("%d\\n", n[0]);
        }
    """
    compiled = hiprtc.compile(source)
    assert compiled.result == SUCCESS, compiled.log
    assert set(compiled.kernels) == {"k"}


@pytest.mark.slow("compiles a kernel per function")
def test_half_floats_are_computed_alike_on_every_processor(hiprtc: Hiprtc, monkeypatch: pytest.MonkeyPatch) -> None:
    """By AVX512-FP16 a product and a sum would be fused, which they are not elsewhere."""
    monkeypatch.setenv("HIPCPU_CXXFLAGS", "-march=sapphirerapids")
    source = '#ifdef __AVX512FP16__\n#error half floats\n#endif\nextern "C" __global__ void one() {}\n'
    compiled = hiprtc.compile(source)
    assert compiled.result == SUCCESS, compiled.log
