"""Kernels that nobody asked for are cut out of a source's text, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest

from conformance.port.compiling import cut
from conformance.port.compiling.cut import Block, Cuts, cuts_of
from conformance.port.compiling.shards import FEWEST, MOST, Part, parts_of, shards_of
from conformance.port.definitions.scan import scan_source
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource

KERNEL = 'extern "C" __global__ void {}(float *p) {{ p[0] = 1; }}\n'
A, B, C = (KERNEL.format(name) for name in "abc")
BOTH = """#define KERNEL(NAME) extern "C" __global__ void NAME(float *p) { p[0] = 1; }
#define TWO(X, Y) KERNEL(X) KERNEL(Y)
"""


class Cut(Protocol):
    def __call__(self, text: str, header: str = "") -> Cuts | None: ...


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelSource:
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "port"
    folder.mkdir()
    return KernelSource(folder / "k.hip", folder)


@pytest.fixture
def cuts(source: KernelSource) -> Cut:
    """What can be cut out of ``k.hip`` with the given text, next to ``header.h``."""

    def read(text: str, header: str = "") -> Cuts | None:
        source.path.write_text(text)
        source.path.with_name("header.h").write_text(header)
        return cuts_of(source, BuildOptions())

    return read


def kernels(source: KernelSource, text: str) -> dict[str, int]:
    """The kernels that ``text`` defines in place of the source's, and their lines."""
    source.path.write_text(text)
    return {kernel.name: kernel.line for kernel in scan_source(source, BuildOptions()).kernels}


LEFT: dict[str, tuple[str, str, set[str]]] = {
    # What is cut, what is asked for, the kernels that are left.
    "one of three": (A + B + C, "b", {"b"}),
    "what is not there": (A + B, "z", set()),
    "a use of a macro": (BOTH + "KERNEL(a)\nKERNEL(b)\nKERNEL(c)\n", "b", {"b"}),
    "a macro that defines two": (BOTH + "TWO(a, b)\nTWO(c, d)\n", "b", {"a", "b"}),
    "two uses on a line": (BOTH + "KERNEL(a) KERNEL(b)\nKERNEL(c)\n", "a", {"a", "b"}),
    "a use over two lines": (BOTH + "TWO(a,\n    b)\nTWO(\n  c, d)\n", "d", {"c", "d"}),
    "a pasted name": (
        '#define OP(T) extern "C" __global__ void k_##T(T *p) { p[0] = 1; }\nOP(float)\nOP(int)\n',
        "k_int",
        {"k_int"},
    ),
    "a linkage block": (
        'extern "C" {\n__global__ void a(int *p) { *p = 1; }\n__global__ void b(int *p) { *p = 2; }\n}\n',
        "a",
        {"a"},
    ),
    "nested blocks": (
        'extern "C" {\nnamespace n {\nextern "C" {\n__global__ void a(int *p) { *p = 1; }\n}\n}\n'
        "__global__ void b(int *p) { *p = 2; }\n}\n",
        "b",
        {"b"},
    ),
    "a block on one line": ('extern "C" { __global__ void a(int *p) { *p = 1; } }\n' + B, "b", {"b"}),
    "declared before": ('extern "C" __global__ void a(float *p);\n' + A + B, "b", {"b"}),
    "declared with C linkage before": (
        'extern "C" __global__ void a(float *p);\n__global__ void a(float *p) { p[0] = 1; }\n' + B,
        "b",
        {"b"},
    ),
    "launched by a function": (A + B + "void launch(float *p) { a<<<1, 1>>>(p); }\n", "b", {"a", "b"}),
    "launched by a kernel": (
        A + 'extern "C" __global__ void b(float *p) { a<<<1, 1>>>(p); }\n' + C,
        "b",
        {"a", "b"},
    ),
    "launched where the scanner does not look": (
        A + B + "#ifdef ELSEWHERE\nvoid launch(float *p) { a<<<1, 1>>>(p); }\n#endif\n",
        "b",
        {"a", "b"},
    ),
    "named by a macro": ("#define FIRST a\n" + A + B, "b", {"a", "b"}),
    "named by an attribute": (A + B + 'extern "C" void other(float *) __attribute__((alias("a")));\n', "b", {"a", "b"}),
    "its address in a table": (A + B + "void *const table[] = {(void *)a};\n", "b", {"a", "b"}),
    "registered by a constructor": (
        A + B + "struct Entry { Entry(void *); };\nstatic Entry entry((void *)a);\n",
        "b",
        {"a", "b"},
    ),
    "named by a comment": (A + "// as a\n" + B, "b", {"b"}),
    "a template": (
        "template <class T> __global__ void t(T *p) { *p = 1; }\ntemplate __global__ void t<int>(int *);\n" + A + B,
        "b",
        {"t", "b"},
    ),
    "a mangled name": ("__global__ void plain(int *p) { *p = 1; }\n" + A + B, "b", {"plain", "b"}),
    "next to a variable": ("__constant__ int n = 3; " + A + B, "b", {"a", "b"}),
    "one branch of two": ("#ifdef __HIP__\n" + A + "#else\n" + C + "#endif\n" + B, "b", {"b"}),
    "a branch in its head": (
        'extern "C" __global__ void\n#ifdef __HIP__\na(float *p) {\n#else\nc(float *p) {\n#endif\n*p = 1; }\n' + B,
        "b",
        {"a", "b"},
    ),
    "a kernel of another target in its lines": (
        'extern "C" __global__ void\n#ifdef ELSEWHERE\nz(float *p) { *p = 2; }\nextern "C" __global__ void\n#endif\n'
        "a(float *p) { *p = 1; }\n" + B,
        "b",
        {"a", "b"},
    ),
    "a file in its body": ('extern "C" __global__ void a(float *p) {\n#include "header.h"\n}\n' + B, "b", {"a", "b"}),
}


@pytest.mark.slow("compiles a small port")
@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(cuts: Cut, source: KernelSource, name: str) -> None:
    text, asked, left = LEFT[name]
    header = "p[0] = 1;\n" if "header.h" in text else ""
    found = cuts(text, header)
    assert found is not None
    whole = kernels(source, text)
    lines = kernels(source, found.text_for([asked]))
    assert lines == {name: whole[name] for name in left}


def test_a_kernel_of_a_header_stays(cuts: Cut, source: KernelSource) -> None:
    found = cuts('#include "header.h"\n' + B + C, A)
    assert found is not None
    assert kernels(source, found.text_for(["b"])).keys() == {"a", "b"}


def test_directives_and_line_breaks_stay_where_they_are(cuts: Cut) -> None:
    text = 'extern "C" __global__ void a(float *p) {\n#define X 1\n  // no\n#pragma unroll\n  p[0] = X; /*\n*/ }\n'
    found = cuts(text + B)
    assert found is not None
    assert found.text_for(["b"]) == "\n#define X 1\n\n\n\n\n" + B


SHARED = {
    "a variable": ("__device__ int count;\n", True),
    "an array": ("static __device__ float scratch[4];\n", True),
    "a managed variable": ("__managed__ int count = 3;\n", True),
    "a static variable of a function": ("__device__ int next() { static int n = 0; return n++; }\n", True),
    "a constant": ("__device__ const float table[2] = {1, 2};\n", False),
    "constant memory": ("__constant__ float table[2];\n", False),
    "constant expressions": ("static constexpr __device__ int n = 3;\n", False),
    "a static constant of a function": ("__device__ int f() { static const int n = 0; return n; }\n", False),
    "functions": ("static __device__ int f(int x) { return x; }\nstruct S { static __device__ int g(); };\n", False),
    "shared memory": ("extern __shared__ char scratch[];\n__device__ void f() { static __shared__ int n; }\n", False),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_source_whose_kernels_may_share_a_variable_is_compiled_as_a_whole(cuts: Cut, name: str) -> None:
    text, shared = SHARED[name]
    assert (parts_of(cuts(text + A + B), ["a"]) is None) == shared


@pytest.mark.parametrize("text", ["", "int f();\n", "#error no\n" + A, A + "}\n"])
def test_there_is_nothing_to_cut_where_nothing_can_be_read(cuts: Cut, text: str) -> None:
    assert cuts(text) is None


def test_a_source_is_read_once(cuts: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cuts(A + B, "int x;\n")
    with monkeypatch.context() as context:
        context.setattr(cut, "scan_source", lambda *_: pytest.fail("it was read again"))
        assert cuts(A + B, "int x;\n") == first
    assert cuts('#include "header.h"\n' + A, A.replace("a(", "d("))
    found = cuts('#include "header.h"\n' + A, "#define A a\n")  # the header has changed
    assert found is not None
    assert found.always == frozenset()


def blocks(names: Sequence[str]) -> list[Block]:
    return [Block((name,), at, at + 1) for at, name in enumerate(names)]


NAMES = [f"kernel_{number}" for number in range(200)]


def test_shards_have_a_few_kernels_in_the_order_of_the_source() -> None:
    shards = list(shards_of(blocks(NAMES)))
    assert [name for shard in shards for name in shard] == NAMES
    assert all(FEWEST <= len(shard) <= MOST for shard in shards[:-1])
    assert list(shards_of(blocks(NAMES[:20]))) == [tuple(NAMES[:20])]
    assert list(shards_of([])) == []


@pytest.mark.parametrize("at", [0, 50, 120, 199])
def test_another_kernel_changes_the_shards_around_it_alone(at: int) -> None:
    before = set(shards_of(blocks(NAMES)))
    after = set(shards_of(blocks([*NAMES[:at], "one_more", *NAMES[at:]])))
    assert len(after - before) <= 3


def test_an_edit_changes_the_text_of_one_shard(cuts: Cut) -> None:
    text = BOTH + "".join(f"KERNEL({name})\n" for name in NAMES)
    before, after = cuts(text), cuts(text.replace("KERNEL(kernel_70)", "KERNEL( kernel_70 )"))
    assert before is not None
    assert after is not None
    shards = [part.shard for part in parts_of(before, NAMES) or ()]
    assert len(shards) > 5
    changed = [shard for shard in shards if before.text_for(shard) != after.text_for(shard)]
    assert [("kernel_70" in shard) for shard in changed] == [True]


def test_a_part_has_its_shard_and_what_is_asked_for(cuts: Cut) -> None:
    found = cuts(A + B + C)
    assert parts_of(found, ["b", "z"]) == (Part(("a", "b", "c"), ("b",)),)
    assert parts_of(found, ["z"]) == ()
    assert parts_of(found, ["a", "b", "c"]) is None  # nothing would be cut
    assert parts_of(found, []) is None
    assert parts_of(None, ["a"]) is None
    rest = Part(("y", "z"), ("y", "z"), whole=True)
    assert parts_of(found, ["a", "y", "z"], unseen=["z", "y", "a"]) == (Part(("a", "b", "c"), ("a",)), rest)
