"""Mistakes planted in a small source, each found as what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.port.check.findings import CheckFinding
from conformance.port.check.objects import ObjectFile
from conformance.port.check.source import check_sources, read_tree
from conformance.port.code_objects import CodeObject, KernelObject
from conformance.port.definitions import preprocess
from conformance.port.signature import expected_arguments
from conformance.port.sources import find_sources
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs, load_specs
from conformance.toolchains.host import NoCompiler
from tests.commands import answer, refused

ROOT = Path(__file__).parents[2]

SOURCE = """\
#include <hip/hip_runtime.h>
using u8 = unsigned char;
struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };

#define UNARY(name, T)                                                                            \\
  extern "C" __global__ void u##name##_##T(const size_t numel, const size_t num_dims,             \\
                                           const size_t *info, const T *inp, T *out) {            \\
    for (size_t i = threadIdx.x; i < numel; ++i) out[i] = inp[i];                                 \\
  }
using f32 = float;
using f64 = double;
#define OPS(T) UNARY(tanh, T) UNARY(exp, T)
OPS(bf16)
OPS(f16)
OPS(f32)
OPS(f64)

extern "C" __global__ void affine_f32(const size_t numel, const size_t num_dims, const size_t *info,
                                      const float *inp, float *out, const float mul, const float add) {
  out[0] = inp[0] * mul + add;
}
"""
DEFINED = ("utanh_bf16", "utanh_f16", "utanh_f32", "utanh_f64", "uexp_bf16", "uexp_f16", "uexp_f32", "uexp_f64")


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def findings(
    specs: Specs, folder: Path, text: str, wanted: Sequence[str] = (*DEFINED, "affine_f32")
) -> list[CheckFinding]:
    """The findings of a tree of one file, where only ``wanted`` kernels can be missing."""
    folder = folder / "port"
    folder.mkdir(exist_ok=True)
    (folder / "port.hip").write_text(text)
    return check_sources(read_tree(find_sources(folder)), specs.kernels, [specs.kernels[name] for name in wanted])


def changed(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1
    return SOURCE.replace(old, new)


def test_a_right_source_has_no_finding(specs: Specs, tmp_path: Path) -> None:
    assert findings(specs, tmp_path, SOURCE) == []


def test_a_renamed_kernel_is_told_with_the_name_that_is_meant(specs: Specs, tmp_path: Path) -> None:
    renamed = changed("affine_f32(", "afine_f32(")
    (found,) = findings(specs, tmp_path, renamed)
    assert (found.kind, found.kernel, found.intended) == ("misnamed", "afine_f32", "affine_f32")
    assert found.place == "port/port.hip:19-22"


def test_a_renamed_kernel_of_a_macro_is_told_per_dtype(specs: Specs, tmp_path: Path) -> None:
    found = findings(specs, tmp_path, changed("UNARY(tanh, T)", "UNARY(tan, T)"))
    assert {(item.kind, item.kernel, item.intended) for item in found} == {
        ("misnamed", f"utan_{dtype}", f"utanh_{dtype}") for dtype in ("bf16", "f16", "f32", "f64")
    }


def test_a_name_near_to_a_missing_one_with_other_parameters_is_extra(specs: Specs, tmp_path: Path) -> None:
    text = changed("affine_f32(const size_t numel, ", "afine_f32(")
    found = {item.kind: item for item in findings(specs, tmp_path, text)}
    assert found.keys() == {"extra", "missing"}
    assert (found["extra"].kernel, found["extra"].intended) == ("afine_f32", "affine_f32")
    assert found["missing"].kernel == "affine_f32"


def test_a_kernel_like_none_is_extra_without_a_guess(specs: Specs, tmp_path: Path) -> None:
    (found,) = findings(specs, tmp_path, SOURCE + 'extern "C" __global__ void zzz(float *out) { out[0] = 0; }\n')
    assert (found.kind, found.kernel, found.intended) == ("extra", "zzz", None)


@pytest.mark.slow("compiles and checks sources")
@pytest.mark.parametrize(
    ("old", "new", "kind", "said"),
    [
        ("const float mul, const float add", "const float add, const float mul", "parameter_order", "6 is add, .*mul"),
        (
            "const float *inp, float *out, const",
            "float *out, const float *inp, const",
            "parameter_order",
            "parameter 4 is out, Candle's is inp; parameter 5 is inp",
        ),
        (
            "const float *inp, float *out, const",
            "const double *inp, float *out, const",
            "pointee_type",
            r"parameter 4 is const double \*inp, Candle's is f32\* inp",
        ),
        (
            "const float *inp, float *out, const",
            "const bf16 *inp, float *out, const",
            "pointee_type",
            r"parameter 4 is const bf16 \*inp",
        ),
        (
            "affine_f32(const size_t numel",
            "affine_f32(const int numel",
            "parameter_type",
            "parameter 1 is const int numel, Candle's is size_t numel",
        ),
        ("const float mul", "const float *mul", "parameter_type", r"parameter 6 is const float \*mul"),
        (", const float add", "", "parameter_count", "has 6 .*, Candle's has 7"),
        ('extern "C" __global__ void affine_f32', "__global__ void affine_f32", "extern_c", "mangled"),
        ("const float mul", "const number mul", "unknown_type", "what number is"),
    ],
)
def test_a_wrong_parameter_list_is_told_as_what_it_is(
    specs: Specs, tmp_path: Path, old: str, new: str, kind: str, said: str
) -> None:
    (found,) = findings(specs, tmp_path, changed(old, new))
    assert (found.kind, found.kernel, found.place) == (kind, "affine_f32", "port/port.hip:19-22")
    assert re.search(said, found.message)


def test_a_wrong_type_in_a_macro_is_told_for_each_kernel(specs: Specs, tmp_path: Path) -> None:
    found = findings(
        specs, tmp_path, changed("const size_t num_dims,             ", "const int num_dims,                ")
    )
    assert {(item.kind, item.kernel) for item in found} == {("parameter_type", name) for name in DEFINED}
    assert {item.place for item in found} == {f"port/port.hip:{line}" for line in (14, 15, 16, 17)}


@pytest.mark.parametrize(("own", "right"), [("f16", False), ("bf16", True), ("unsigned short", True), ("short", False)])
def test_narrow_floats_are_told_apart_by_the_names_of_the_ports_own_types(
    specs: Specs, tmp_path: Path, own: str, right: bool
) -> None:
    text = (
        SOURCE.replace("affine_f32", "affine_bf16")
        .replace("const float", f"const {own}")
        .replace("float *out", f"{own} *out")
    )
    found = findings(specs, tmp_path, text, DEFINED)
    assert {item.kind for item in found} == (set() if right else {"pointee_type", "parameter_type"})


def test_a_dropped_dtype_is_reported_next_to_those_that_are_there(specs: Specs, tmp_path: Path) -> None:
    found = findings(specs, tmp_path, changed("OPS(f16)\n", ""))
    assert [(item.kind, item.kernel) for item in found] == [
        ("missing_dtype", "utanh_f16"),
        ("missing_dtype", "uexp_f16"),
    ]
    assert "utanh_bf16, utanh_f32, utanh_f64" in found[0].message.replace("is not defined, though ", "")


def test_a_kernel_that_no_other_dtype_has_is_missing(specs: Specs, tmp_path: Path) -> None:
    (found,) = findings(specs, tmp_path, SOURCE, [*DEFINED, "fill_f32"])
    assert (found.kind, found.kernel, found.place) == ("missing", "fill_f32", None)


def test_a_cu_file_is_hip_by_the_headers_of_the_shim_that_it_includes(specs: Specs, tmp_path: Path) -> None:
    """As for the compiler: by what it includes through others, too."""
    (tmp_path / "port").mkdir()
    (tmp_path / "port/shim.h").write_text(
        "#ifdef __HIP__\n#include <hip/hip_runtime.h>\n#else\n#error no HIP\n#endif\n"
    )
    (tmp_path / "port/fill.cu").write_text('#include "shim.h"\nextern "C" __global__ void fill_u8() {}\n')
    (definition,) = read_tree(find_sources(tmp_path / "port")).definitions.values()
    assert [kernel.name for kernel in definition] == ["fill_u8"]


def test_a_second_definition_is_a_warning(specs: Specs, tmp_path: Path) -> None:
    (tmp_path / "port").mkdir()
    (tmp_path / "port/again.hip").write_text(SOURCE)
    found = findings(specs, tmp_path, SOURCE)
    assert {item.kind for item in found} == {"duplicate"}
    assert all(item.is_warning for item in found)
    assert found[0].message == "is defined at port/again.hip:14 too"


def test_a_mangled_building_block_is_no_extra_kernel_and_no_second_definition(specs: Specs, tmp_path: Path) -> None:
    text = SOURCE + "__global__ void step(float *out) { out[0] = 0; }\nnamespace own {\n"
    text += "__global__ void affine_f32(float *out) { out[0] = 0; }\n}\n"
    assert findings(specs, tmp_path, text) == []


def test_a_template_is_no_kernel_that_could_be_asked_for(specs: Specs, tmp_path: Path) -> None:
    text = SOURCE + "template <class T> __global__ void body(T *out) { out[0] = T(); }\n"
    assert findings(specs, tmp_path, text) == []


def check(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    said = answer(capsys, "check", *words)
    return said.code, said.out, said.err


@pytest.mark.nightly("compiles a small port")
def test_our_own_kernels_have_no_finding_but_missing_ones(
    specs: Specs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = check(capsys, "--kernels", ROOT / "kernels", "--json", tmp_path / "check.json")
    report = json.loads((tmp_path / "check.json").read_text())
    assert [finding for finding in report["findings"] if finding["kind"] != "missing"] == []
    assert report["summary"]["defined"] + report["summary"].get("missing", 0) == len(specs.kernels)
    assert code == (1 if report["findings"] else 0)
    assert f"{report['summary']['defined']} of Candle's {len(specs.kernels)} kernels by name, " in out
    names = [definition["name"] for definition in report["definitions"] if definition["name"] in specs.kernels]
    assert len(set(names)) == len(names) >= 606
    exp = next(definition for definition in report["definitions"] if definition["name"] == "uexp_f32")
    assert re.fullmatch(r"kernels/unary\.hip:\d+", exp["source"])
    assert [param["name"] for param in exp["params"]] == ["numel", "num_dims", "info", "inp", "out"]


def test_exit_code_0_when_all_that_is_asked_for_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "port.hip").write_text(SOURCE)
    code, out, err = check(capsys, "--kernels", tmp_path / "port.hip", "affine_f32", "utanh_f16")
    assert (code, err) == (0, "")
    assert "1 source file defines 9 kernels" in out
    code, out, _ = check(capsys, "--kernels", tmp_path / "port.hip", "affine_f*")
    assert code == 1
    assert "missing_dtype" in out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.hip", "int main() { return 0; }\n", "defines no kernel"),
        ("notes.txt", "no kernels here\n", "not a kernel file"),
        ("text.hsaco", "not an ELF file", "is not a code object"),
        ("broken.hip", SOURCE + 'extern "C" __global__ void f(int n) { if (n) {\n', "port.*broken.hip"),
        ("header.hip", '#include "absent.h"\n' + SOURCE, "absent.h"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, said: str
) -> None:
    (tmp_path / "port").mkdir()
    file = tmp_path / "port" / name
    file.write_text(content)
    code, _, err = check(capsys, "--kernels", file)
    assert code == 2
    assert re.search(said, err)
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_broken_file_loses_nothing_of_the_others(
    specs: Specs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "broken.hip").write_text("namespace a {\n")
    (folder / "right.hip").write_text(SOURCE)
    code, out, err = check(capsys, "--kernels", folder, "--json", tmp_path / "check.json", "affine_f32")
    assert code == 2
    assert "broken.hip" in err
    report = json.loads((tmp_path / "check.json").read_text())
    assert [finding["kind"] for finding in report["findings"]] == ["unreadable"]
    assert len(report["definitions"]) == 9
    assert "9 of Candle's" in out


def test_an_error_in_a_header_has_the_place_of_the_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "port"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts/shim.h").write_text("#define two(a, b)\n#error no such wave size\n")
    (folder / "kernels.hip").write_text('#include "parts/shim.h"\n' + SOURCE)
    code, out, err = check(capsys, "--kernels", folder, "affine_f32")
    assert (code, err) == (2, "candle-parity: port/parts/shim.h:2: no such wave size\n")
    assert "port/parts/shim.h:2: no such wave size" in out


def test_a_foreign_binary_in_a_tree_is_reported_next_to_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "right.hip").write_text(SOURCE)
    (folder / "cuda.hsaco").write_bytes(b"\x7fELF" + bytes(14) + (190).to_bytes(2, "little") + bytes(44))
    code, out, err = check(capsys, "--kernels", folder, "affine_f32")
    assert code == 2
    assert "an NVIDIA GPU (a CUDA cubin)" in err
    assert err.count("\n") == 1
    assert "defines 9 kernels" in out
    code, _, err = check(capsys, "--kernels", folder / "cuda.hsaco")
    assert (code, "an NVIDIA GPU" in err, err.count("\n")) == (2, True, 1)


def test_every_kernel_is_known_by_its_own_parameters(specs: Specs) -> None:
    """The comparison accepts each spec's own list as Candle spells it, for the types of every dtype."""
    from conformance.port.definitions.scan import Param
    from conformance.port.signature import differences, written

    spelled = {"f64": "double", "f32": "float", "f16": "__half", "bf16": "__nv_bfloat16", "f8e4m3": "__nv_fp8_e4m3"}
    spelled |= {"i64": "int64_t", "i32": "int32_t", "i16": "int16_t", "u32": "uint32_t", "u8": "uint8_t"}
    spelled |= {"size_t": "size_t", "int": "int", "bool": "bool", "void*": "void"}

    def params(kernel: Kernel) -> list[Param]:
        return [Param(f"const {spelled[p.dtype]}{' *' * p.pointer}", p.name) for p in kernel.params]

    assert {
        name: found for name, kernel in specs.kernels.items() if (found := differences(kernel, written(params(kernel))))
    } == {}


def test_without_a_compiler_it_is_one_sentence_that_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("a.hip", "b.hip"):
        (tmp_path / name).write_text('extern "C" __global__ void fill_u8(unsigned char *, unsigned char, size_t) {}\n')

    def none() -> None:
        raise NoCompiler("no C++ compiler was found; install one")

    monkeypatch.setattr(preprocess, "_toolchain", none)
    said = answer(capsys, "check", "--kernels", tmp_path, "--partial")
    why = "macros and #if decide which kernels a source defines, so that a C++ preprocessor has to expand them"
    refused(said, f"sources cannot be read: {why}, and no C++ compiler was found; install one")


def test_without_a_compiler_code_objects_are_checked_and_the_exit_code_is_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, specs: Specs
) -> None:
    fill = KernelObject("fill_u8", expected_arguments(specs.kernels["fill_u8"]), 8, 16, 0, 0, 0, 0, 64, 1024, 296)
    (tmp_path / "a.hip").write_text("")
    read = find_sources(tmp_path), [ObjectFile("b.hsaco", CodeObject("gfx942", {"fill_u8": fill}))], []

    def none() -> None:
        raise NoCompiler("no C++ compiler was found; install one")

    monkeypatch.setattr(preprocess, "_toolchain", none)
    monkeypatch.setattr("conformance.cli.commands.check._read", lambda _: read)
    said = answer(capsys, "check", "--kernels", tmp_path, "--partial")
    assert said.code == 2
    assert "1 of Candle's 748 kernels by name" in said.out
    assert "only the code objects were checked; sources cannot be read" in said.err
