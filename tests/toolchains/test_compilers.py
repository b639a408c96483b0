"""Compilers for AMD targets: which is taken, what it makes, what is kept. Nothing that is compiled here is run."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from conformance.cache import SUFFIX
from conformance.files import cache_folder
from conformance.notices import take_warnings
from conformance.port.amd_cache import compile_cached
from conformance.port.code_objects import parse, read_code_objects
from conformance.processes import InfrastructureError
from conformance.toolchains import amd as toolchains
from conformance.toolchains.amd import KINDS, AmdToolchain, CompileFailure, find_toolchain
from conformance.toolchains.device_libraries import find_device_libraries, llvm_version
from conformance.toolchains.fetched import take
from conformance.toolchains.headers import headers_of
from conformance.toolchains.search import zig
from conformance.toolchains.targets import AmdError, AmdTarget, target
from tests.toolchains.packages import deb, headers


@pytest.fixture(autouse=True)
def no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package triton, which brings device libraries of its own, were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "triton" else find(name, *rest)
    )


GFX942, GFX1100 = target("gfx942"), target("gfx1100")

KERNEL = """
#include <hip/hip_runtime.h>
#include "scale.h"
extern "C" __global__ void scale(const size_t numel, const float *inp, float *out, const unsigned char shift) {
  __shared__ float part[SIZE];
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  part[threadIdx.x % SIZE] = expf(inp[i]);
  __syncthreads();
  if (i < numel) out[i] = part[(threadIdx.x + shift) % SIZE] + __shfl_xor(inp[i], 1);
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "scale.h").write_text("#pragma once\n#define SIZE 64\n")
    path = tmp_path / "scale.hip"
    path.write_text(KERNEL)
    return path


def of_kind(kind: toolchains.Kind) -> AmdToolchain:
    try:
        return find_toolchain([GFX942, GFX1100], [kind])
    except AmdError as missing:
        pytest.skip(f"NOT COMPILED FOR AMD TARGETS: {missing}")


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("kind", KINDS)
def test_each_compiler_makes_the_same_argument_layout(kind: toolchains.Kind, source: Path) -> None:
    toolchain = of_kind(kind)
    for wanted in (GFX942, GFX1100):
        code = parse(compile_cached(toolchain, source, wanted).code, "scale")
        assert code.target == wanted.name
        kernel = code.kernels["scale"]
        assert [(a.offset, a.size, a.is_pointer) for a in kernel.arguments] == [
            (0, 8, False),
            (8, 8, True),
            (16, 8, True),
            (24, 1, False),
        ]
        assert kernel.wave == wanted.default_wave
        assert kernel.lds == 4 * 64
        assert (kernel.vgpr_spills, kernel.sgpr_spills, kernel.scratch) == (0, 0, 0)


@pytest.mark.parametrize("version", ["15.0.5", "19.1.7", "20.0.0git", "7.1"])
def test_the_device_libraries_are_named_with_their_llvm(version: str, tmp_path: Path) -> None:
    (tmp_path / "ocml.bc").write_bytes(bitcode_by(version))
    assert llvm_version(tmp_path) == version
    (tmp_path / "ocml.bc").write_bytes(bitcode_by(version)[1:])
    assert llvm_version(tmp_path) == ""


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("kind", ["clang", "zig"])
def test_libraries_of_another_llvm_than_the_compiler_s_are_said_to_be(
    kind: toolchains.Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    major = of_kind(kind).name.partition("version ")[2].partition(".")[0]
    monkeypatch.setenv("HIP_DEVICE_LIB_PATH", str(tmp_path))
    (tmp_path / "ockl.bc").touch()
    for version, expected in (
        (f"{major}.1.0", f" with device libraries of LLVM {major}.1.0"),
        ("15.0.5", " with device libraries of LLVM 15.0.5, not the compiler's release"),
    ):
        (tmp_path / "ocml.bc").write_bytes(bitcode_by(version))
        assert of_kind(kind).name.partition("; headers of HIP ")[0].endswith(expected)


def bitcode_by(version: str) -> bytes:
    """The head of a bitcode file: magic number, identification block, its abbreviation and its string."""
    fields = [(0xDEC04342, 32), (1, 2), (13, 8), (5, 4), (0, 18), (5, 32)]
    fields += [(2, 5), (3, 5), (1, 1), (1, 8), (0, 1), (3, 3), (0, 1), (4, 3), (4, 5), (len(version) + 4, 6)]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
    fields += [(letters.index(letter), 6) for letter in f"LLVM{version}"]
    bits = at = 0
    for value, width in [*fields, (0x2D, 6), (0x3F, 6)]:
        bits |= value << at
        at += width
    return bits.to_bytes(512, "little")


BOUNDED = """
#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(64) few(float *p, int *q) {
  p[threadIdx.x] = tanhf(p[threadIdx.x]) + sqrtf(p[0]);
  q[threadIdx.x] = __ffs(q[threadIdx.x]) + __ffs(static_cast<unsigned>(q[0]));
}
extern "C" __global__ void __launch_bounds__(128, 2) more(float *p) { p[threadIdx.x] = 3; }
"""
UNDEFINED = """
#include <hip/hip_runtime.h>
extern "C" __device__ __attribute__((visibility("default"))) float nowhere(float);
extern "C" __global__ void user(float *p) { p[threadIdx.x] = nowhere(p[threadIdx.x]); }
extern "C" __global__ void other(float *p) { p[threadIdx.x] = 3; }
"""


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("kind", KINDS)
def test_each_compiler_obeys_launch_bounds_and_leaves_nothing_undefined(kind: toolchains.Kind, tmp_path: Path) -> None:
    """``tanhf`` needs a constant of old device libraries that the drivers of newer compilers leave out."""
    toolchain, source = of_kind(kind), tmp_path / "bounded.hip"
    source.write_text(BOUNDED)
    kernels = parse(compile_cached(toolchain, source, GFX942).code, "bounded").kernels
    assert {name: kernel.max_workgroup for name, kernel in kernels.items()} == {"few": 64, "more": 128}


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("kind", KINDS)
def test_an_undefined_symbol_is_refused_with_the_kernel_that_uses_it(kind: toolchains.Kind, tmp_path: Path) -> None:
    toolchain, source = of_kind(kind), tmp_path / "undefined.hip"
    source.write_text(UNDEFINED)
    with pytest.raises(CompileFailure, match=r"^undefined\.hip: nowhere is used by user and defined nowhere"):
        toolchain.compile(source, GFX942, tmp_path / "k.hsaco")


def test_zig_finds_the_headers_of_its_own_clang(tmp_path: Path) -> None:
    source = tmp_path / "sizes.hip"
    source.write_text(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <hip/hip_runtime.h>\n"
        'extern "C" __global__ void sizes(size_t *out) { out[0] = sizeof(uint64_t); }\n'
    )
    assert parse(compile_cached(of_kind("zig"), source, GFX942).code, "sizes").kernels.keys() == {"sizes"}


def test_what_zig_lacks_for_an_installed_hip_is_no_error_of_the_source(tmp_path: Path) -> None:
    header, source = tmp_path / "include/hip/hip_fp16.h", tmp_path / "halves.hip"
    header.parent.mkdir(parents=True)
    header.write_text("__device__ _Float16 hadd(_Float16 a) { return __clang_half(a); }\n")
    source.write_text("#include <hip/hip_fp16.h>\n")
    options = ["-isystem", str(tmp_path / "include")]
    with pytest.raises(InfrastructureError) as caught:
        of_kind("zig").compile(source, GFX942, tmp_path / "k.hsaco", options)
    said = str(caught.value)
    assert said.startswith(f"halves.hip includes {header}, which zig's clang version")
    assert "install ROCm" in said
    assert "CANDLE_PARITY_AMD_COMPILER" in said


def test_an_error_of_the_source_stays_one_with_zig(tmp_path: Path) -> None:
    source = tmp_path / "wrong.hip"
    source.write_text("#include <hip/hip_runtime.h>\n#include <stddef.h>\nextern int;;\nsize_t size = nothing;\n")
    with pytest.raises(CompileFailure, match="nothing"):
        of_kind("zig").compile(source, GFX942, tmp_path / "k.hsaco")


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("wanted", [GFX942, GFX1100], ids=lambda wanted: wanted.name)
def test_so_is_a_code_object_that_was_linked_with_one(wanted: AmdTarget, tmp_path: Path) -> None:
    toolchain, source, output = of_kind("clang"), tmp_path / "undefined.hip", tmp_path / "k.hsaco"
    source.write_text(UNDEFINED)
    toolchain.compile(source, wanted, output, ["-Xoffload-linker", "--unresolved-symbols=ignore-all"])
    with pytest.raises(AmdError, match=r"k\.hsaco: nowhere is used by user and defined nowhere"):
        read_code_objects(output)


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("kind", KINDS)
def test_an_object_is_kept_until_a_file_or_an_option_changes(kind: toolchains.Kind, source: Path) -> None:
    toolchain = of_kind(kind)
    assert compile_cached(toolchain, source, GFX942).fresh
    assert not compile_cached(toolchain, source, GFX942).fresh
    assert compile_cached(toolchain, source, GFX942, ["-DOTHER"]).fresh
    (source.parent / "scale.h").write_text("#pragma once\n#define SIZE 128\n")
    changed = compile_cached(toolchain, source, GFX942)
    assert changed.fresh
    assert parse(changed.code, "scale").kernels["scale"].lds == 4 * 128


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_object_is_named_and_compiled_again(kind: toolchains.Kind, source: Path) -> None:
    toolchain = of_kind(kind)
    compile_cached(toolchain, source, GFX942)
    entry = max((cache_folder() / "amd").glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_size)
    content = entry.read_bytes()
    entry.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    take_warnings()
    again = compile_cached(toolchain, source, GFX942)
    assert again.fresh
    assert "scale" in parse(again.code, "scale").kernels
    assert any(str(entry) in sentence for sentence in take_warnings())
    assert not compile_cached(toolchain, source, GFX942).fresh


@pytest.mark.slow("starts each compiler that is installed")
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_error_is_told_and_nothing_is_kept(kind: toolchains.Kind, source: Path, tmp_path: Path) -> None:
    toolchain = of_kind(kind)
    source.write_text(KERNEL.replace("expf(inp[i])", "no_such(inp[i])"))
    with pytest.raises(CompileFailure) as caught:
        compile_cached(toolchain, source, GFX942)
    assert "scale.hip:7:" in caught.value.first
    assert "no_such" in caught.value.first.splitlines()[0]
    assert ("libamdhip64-dev" in caught.value.first) == toolchain.minimal_headers
    assert list((tmp_path / "cache").rglob(f"*{SUFFIX}")) == []


def test_rocm_comes_first_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up ROCm tree whose compiler writes its arguments to the output."""
    compiler = tmp_path / "rocm/llvm/bin/amdclang++"
    compiler.parent.mkdir(parents=True)
    compiler.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && { echo "AMD clang version 20.0.0 (made up)"; exit 0; }\n'
        'said="$*"; while [ $# -gt 0 ]; do\n'
        '  [ "$1" = -dependency-file ] && printf "k: made-up.hip\\n" > "$3"\n'
        '  [ "$1" = -o ] && out="$2"\n'
        "  shift; done\n"
        'echo "$said" > "$out"\n'
    )
    compiler.chmod(0o755)
    header = tmp_path / "rocm/include/hip/hip_runtime.h"
    header.parent.mkdir(parents=True)
    header.touch()
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made-up.hip").touch()
    found = find_toolchain([GFX942])
    assert found.kind == "rocm"
    assert found.name == "ROCm's amdclang++, AMD clang version 20.0.0 (made up)"
    words = compile_cached(found, tmp_path / "made-up.hip", GFX942, ["-Ihere"]).code.decode().split()
    assert {"--offload-arch=gfx942", "--offload-device-only", "--no-gpu-bundle-output", "-Ihere"} <= set(words)
    assert f"--rocm-path={tmp_path / 'rocm'}" in words


def made_up_rocm(root: Path) -> Path:
    """A ROCm whose compiler says its version and does nothing."""
    compiler = root / "llvm/bin/amdclang++"
    compiler.parent.mkdir(parents=True)
    compiler.write_text("#!/bin/sh\necho AMD clang version 20.0.0\n")
    compiler.chmod(0o755)
    (root / "include/hip").mkdir(parents=True)
    (root / "include/hip/hip_runtime.h").touch()
    (root / "include/hip/hip_version.h").write_text("#define HIP_VERSION_MAJOR 6\n")
    return compiler


@pytest.mark.parametrize("file", ["llvm/bin/amdclang++", "include/hip/hip_version.h"])
def test_an_upgrade_that_keeps_the_version_is_another_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    made_up_rocm(tmp_path / "rocm")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    before = find_toolchain([GFX942], ["rocm"])
    assert find_toolchain([GFX942], ["rocm"]) == before
    with (tmp_path / "rocm" / file).open("a") as upgraded:
        upgraded.write("\n")
    after = find_toolchain([GFX942], ["rocm"])
    assert after.identity != before.identity
    assert after.name == before.name


def test_rocm_is_found_in_its_python_packages_and_where_rocm_home_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packages/_rocm_sdk_devel").mkdir(parents=True)
    home, package = tmp_path / "home", tmp_path / "packages/_rocm_sdk_devel"
    made_up_rocm(home)
    monkeypatch.delenv("ROCM_PATH", raising=False)
    monkeypatch.setenv("ROCM_HOME", str(home))
    assert find_toolchain([GFX942], ["rocm"]).options == (f"--rocm-path={home}", "-isystem", f"{home}/include")
    made_up_rocm(package)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    assert find_toolchain([GFX942], ["rocm"]).options[0] == f"--rocm-path={package}"


def test_a_compiler_without_hips_headers_is_named_and_a_whole_rocm_behind_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, whole = tmp_path / "bare", tmp_path / "opt/rocm-6.4.1"
    compiler = made_up_rocm(bare)
    (bare / "include/hip/hip_runtime.h").unlink()
    monkeypatch.setenv("ROCM_PATH", str(bare))
    monkeypatch.setattr("conformance.toolchains.search.OPT", tmp_path / "opt")
    said = re.escape(f"there is {compiler}, without HIP's headers (ROCm's package hip-dev")
    with pytest.raises(AmdError, match=said):
        find_toolchain([GFX942], ["rocm"])
    made_up_rocm(whole)
    assert find_toolchain([GFX942], ["rocm"]).options[0] == f"--rocm-path={whole}"


@pytest.mark.parametrize("place", ["amdgcn/bitcode", "lib/llvm/amdgcn/bitcode", "llvm/lib/clang/19/lib/amdgcn/bitcode"])
def test_device_libraries_are_found_as_packages_and_wheels_lay_them_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.delenv("HIP_DEVICE_LIB_PATH", raising=False)
    folder = tmp_path / place
    folder.mkdir(parents=True)
    for library in ("ocml.bc", "ockl.bc"):
        (folder / library).touch()
    assert find_device_libraries([tmp_path]) == folder


@pytest.mark.slow("starts each compiler that is installed")
def test_the_headers_of_the_installation_come_before_those_of_another_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By themselves clang and amdclang++ find <hip/...> in /usr/include first, of whatever release that is."""
    of_kind("clang")
    include = tmp_path / "rocm/include/hip"
    include.mkdir(parents=True)
    (include / "hip_runtime.h").write_text("#define __global__ __attribute__((global))\n")
    (include / "hip_version.h").write_text("#define HIP_VERSION_MAJOR 99\n")
    source = tmp_path / "a.hip"
    source.write_text(
        "#include <hip/hip_version.h>\n#if HIP_VERSION_MAJOR != 99\n#error another release\n#endif\n"
        'extern "C" __global__ void k(int* out) { *out = HIP_VERSION_MAJOR; }\n'
    )
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    found = find_toolchain([GFX942], ["clang"])
    assert compile_cached(found, source, GFX942, []).code
    (include / "hip_version.h").write_text("#define HIP_VERSION_MAJOR 100\n")
    assert find_toolchain([GFX942], ["clang"]).identity != found.identity


@pytest.mark.slow("starts clang")
def test_a_release_in_the_cache_comes_before_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_kind("clang")
    monkeypatch.delenv("ROCM_PATH", raising=False)
    files = headers("99.0") | {"usr/include/hip/hip_runtime.h": b"#define __global__ __attribute__((global))\n"}
    (tmp_path / "hip.deb").write_bytes(deb(files))
    release = take(tmp_path / "hip.deb")
    source = tmp_path / "a.hip"
    source.write_text(
        "#include <hip/hip_version.h>\n#if HIP_VERSION_MAJOR != 99\n#error another release\n#endif\n"
        'extern "C" __global__ void k(int* out) { *out = HIP_VERSION_MAJOR; }\n'
    )
    found = find_toolchain([GFX942], ["clang"])
    assert headers_of(found.options) == release.include
    assert found.name.endswith("; headers of HIP 99.0")
    assert compile_cached(found, source, GFX942, []).code


def test_what_is_missing_is_said_with_the_packages_that_bring_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(toolchains, "rocm_roots", list)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AmdError) as caught:
        find_toolchain([GFX942])
    said = str(caught.value)
    for part in ("rocm: no ROCm", "clang: no clang++", "zig: the PyPI package ziglang", "rocm-device-libs", "clang-19"):
        assert part in said
    assert "\n" not in said
    assert toolchains.lacking() == said


def test_the_kind_of_compiler_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDLE_PARITY_AMD_COMPILER", "nvcc")
    with pytest.raises(AmdError, match="expected one of rocm, clang, zig"):
        find_toolchain([GFX942])
    monkeypatch.setenv("CANDLE_PARITY_AMD_COMPILER", "rocm")
    monkeypatch.setattr(toolchains, "rocm_roots", list)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AmdError) as caught:
        find_toolchain([GFX942])
    assert "zig" not in str(caught.value)


@pytest.mark.slow("starts ziglang")
def test_a_ziglang_of_the_working_directory_is_not_run(tmp_path: Path) -> None:
    """Compilers start in the folder of a port."""
    pytest.importorskip("ziglang")
    (tmp_path / "ziglang.py").write_text("print('of the port')\n")
    done = subprocess.run([*zig("c++"), "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "clang" in done.stdout
