"""Which sources count for a backend, the command line, and bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from candle_wiring.judge import wire
from conformance.cli.main import main
from conformance.port.declared.names import names_of
from conformance.spec.load import load_specs
from conformance.upstream.rust import RustError
from tests.upstream.rust import BACKEND, LINE, analyse, asked, make_specs, make_tree

GO = 'fn go(d: &Dev) { d.get_or_load_func("toy_u8", &M); }\n'


def both_backends(folder: Path) -> Path:
    """A tree with a CUDA and a ROCm backend, and a crate whose functions serve one or the other."""
    candle = make_tree(folder, GO, "cuda_backend")
    make_tree(folder, GO.replace("toy_u8", "toy_f32"), "rocm_backend")
    nn = candle / "candle-nn" / "src"
    nn.mkdir(parents=True)
    (nn / "ops.rs").write_text(
        'impl Op {\n    #[cfg(feature = "cuda")]\n'
        '    fn cuda_fwd(&self, d: &Dev) { d.get_or_load_func("nn_cuda", &M); }\n'
        "    fn rocm_fwd(&self, d: &Dev) {\n        use candle::rocm_backend::kernels;\n"
        '        d.get_or_load_func("nn_rocm", &kernels::M);\n    }\n'
        '    #[cfg(not(feature = "cuda"))]\n    fn other(&self, d: &Dev) { d.get_or_load_func("nn_both", &M); }\n}\n'
    )
    return candle


@pytest.mark.parametrize(
    ("backend", "expected"),
    [("cuda_backend", {"toy_u8", "nn_cuda", "nn_both"}), ("rocm_backend", {"toy_f32", "nn_rocm", "nn_both"})],
)
def test_each_backend_sees_its_own(tmp_path: Path, backend: str, expected: set[str]) -> None:
    wiring = wire(both_backends(tmp_path), backend, load_specs(make_specs(tmp_path)))
    assert asked(wiring) == expected
    assert wiring.unresolved == ()


def test_crates_of_other_backends_and_what_nothing_calls_do_not_count(tmp_path: Path) -> None:
    candle = make_tree(tmp_path, GO + "use candle_cuda_kernels::used;\nfn f(m: &Module) { used(m) }\n")
    for crate, name in (("candle-metal-kernels", "metal"), ("candle-cuda-kernels", "own")):
        source = candle / crate / "src"
        source.mkdir(parents=True)
        (source / "lib.rs").write_text(
            f'pub fn used(m: &Module) {{ m.get_function("{name}_used"); }}\n'
            f'pub fn unused(m: &Module) {{ m.get_function("{name}_unused"); }}\n'
        )
    wiring = wire(candle, "cuda_backend", load_specs(make_specs(tmp_path)))
    assert asked(wiring) == {"toy_u8", "own_used"}
    assert wiring.unresolved == ()


def test_a_file_that_only_tests_declare_does_not_count(tmp_path: Path) -> None:
    """A function in it that nothing calls with a name that is known is not an unresolved load."""
    declared = '#[cfg(test)]\nmod tests_copy;\n#[cfg(all(test, feature = "ug"))]\nmod tests_ug;\nmod slice;\n'
    declared += '#[cfg(any(test, feature = "x"))]\nmod extra;\n#[cfg(not(test))]\nmod plain;\n'
    candle = make_tree(tmp_path, GO + declared)
    folder = candle / "candle-core" / "src" / "cuda_backend"
    names = ("tests_copy", "tests_ug", "slice", "extra", "plain")
    for name in names:
        (folder / f"{name}.rs").write_text(f'fn go(d: &Dev) {{ d.get_or_load_func("{name}", &M); }}\n')
    (folder / "tests_ug.rs").write_text(
        "fn run(d: &Dev, name: &'static str) { d.get_or_load_func(name, &M); }\nmod more;\n"
    )
    (folder / "tests_ug").mkdir()
    (folder / "tests_ug" / "more.rs").write_text('fn go(d: &Dev) { d.get_or_load_func("more", &M); }\n')
    wiring = wire(candle, "cuda_backend", load_specs(make_specs(tmp_path)))
    assert wiring.unresolved == ()
    assert asked(wiring) == {"toy_u8", "slice", "extra", "plain"}


def test_a_load_under_the_condition_of_another_backend(tmp_path: Path) -> None:
    code = 'fn go(d: &Dev, n: &Other) {\n    #[cfg(feature = "metal")]\n    { each(|x| x.get_function(n)); }\n'
    code += '    #[cfg(feature = "metal")]\n    d.get_function("metal");\n}\n'
    wiring = analyse(tmp_path, GO + code)
    assert wiring.unresolved == ()
    assert asked(wiring) == {"toy_u8"}


def test_a_backend_in_a_folder_of_its_own(tmp_path: Path) -> None:
    candle = make_tree(tmp_path, GO)
    folder = tmp_path / "hip_port"
    folder.mkdir()
    (folder / "lib.rs").write_text(BACKEND + GO.replace("toy_u8", "toy_f64"))
    wiring = wire(candle, str(folder), load_specs(make_specs(tmp_path)))
    assert asked(wiring) == {"toy_f64"}
    assert wiring.wired_at("toy_f64")[0].endswith(f"hip_port/lib.rs:{LINE + 1}")


def test_another_load_function(tmp_path: Path) -> None:
    code = 'fn go(m: &Module) { m.fetch("toy_u8"); }\n' + GO.replace("toy_u8", "toy_f32")
    candle = make_tree(tmp_path, code)
    wiring = wire(candle, "cuda_backend", load_specs(make_specs(tmp_path)), ["fetch"])
    assert asked(wiring) == {"toy_u8", "toy_f32"}


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = 'fn go<T: WithDType>(d: &Dev) { d.get_or_load_func(&kernel_name::<T>("toy"), &M); }'
    candle, specs, out = make_tree(tmp_path, code), make_specs(tmp_path), tmp_path / "wiring.json"
    assert main(["wiring", "--candle", str(candle), "--specs", str(specs), "--json", str(out)]) == 1
    shown = capsys.readouterr().out
    at = f"candle-core/src/cuda_backend/mod.rs:{LINE + 1}"
    for line in (
        "  wired                  3",
        f"  toy_u8  {at}",
        "  toy_f8_e4m3  toy.cu:4",
        f"  toy_f8e4m3  {at}  (the kernel is toy_f8_e4m3)",
    ):
        assert line in shown.splitlines()
    data = json.loads(out.read_text())
    assert data["summary"] == {
        **{"total": 4, "wired": 3, "never_asked": 1, "not_told": 0},
        **{"missing": 1, "beyond": 0, "unresolved": 0},
    }
    assert [row["wired_at"] for row in data["kernels"]] == [[at], [at], [at], []]
    assert data["missing"][0]["asked_at"] == [at]


def test_what_a_port_does_not_define_is_missing_there_whatever_candle_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = 'fn go<T: WithDType>(d: &Dev) { d.get_or_load_func(&kernel_name::<T>("toy"), &M); }'
    candle, specs, out = make_tree(tmp_path, code), make_specs(tmp_path), tmp_path / "wiring.json"
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "toy.hip").write_text('extern "C" __global__ void toy_u8() {}\n')
    words = ["wiring", "--candle", str(candle), "--specs", str(specs), "--kernels", str(tmp_path / "port")]
    assert main([*words, "--json", str(out)]) == 1
    at = f"candle-core/src/cuda_backend/mod.rs:{LINE + 1}"
    shown = capsys.readouterr().out.partition("asked for, missing in this port: 3\n")[2].splitlines()
    assert shown[:3] == [f"  {name}  {at}" for name in ("toy_f32", "toy_f64", "toy_f8e4m3")]
    names = [row["name"] for row in json.loads(out.read_text())["missing_in_port"]]
    assert names == ["toy_f32", "toy_f64", "toy_f8e4m3"]


def test_a_kernel_of_the_checkouts_own_is_not_missing(tmp_path: Path) -> None:
    code = 'fn more(d: &Dev) { d.get_or_load_func("own_u8", &M); d.get_or_load_func("gone_u8", &M); }'
    candle = make_tree(tmp_path, GO + code)
    source = candle / "candle-kernels" / "src"
    source.mkdir(parents=True)
    (source / "toy.cu").write_text("/* two\n lines */\nOP(uint8_t, own_u8)\n// OP(uint8_t, gone_u8)\n")
    wiring = wire(candle, "cuda_backend", load_specs(make_specs(tmp_path)))
    assert [(one.name, one.defined_at) for one in wiring.beyond] == [("own_u8", "candle-kernels/src/toy.cu:3")]
    assert [one.name for one in wiring.missing] == ["gone_u8"]


def test_everything_wired_is_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        'fn go(d: &Dev) { for n in ["u8", "f32", "f64", "f8_e4m3"] { d.get_or_load_func(&format!("toy_{n}"), &M); } }'
    )
    candle, specs = make_tree(tmp_path, code), make_specs(tmp_path)
    assert main(["wiring", "--candle", str(candle), "--specs", str(specs)]) == 0
    assert "wired                  4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("backend", "change", "problem"),
    [
        ("cuda_backend", {"candle-core/src/cuda_backend/mod.rs": "fn f( {"}, "mod.rs:1: is not valid Rust"),
        ("cuda_backend", {"candle-core/src/cuda_backend/mod.rs": "fn f() {}"}, "--load"),
        ("rocm_backend", {}, "no backend 'rocm_backend'"),
        ("rocm_backend", {}, "this checkout has cuda_backend"),
    ],
)
def test_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str, change: dict[str, str], problem: str
) -> None:
    candle, specs = make_tree(tmp_path, GO), make_specs(tmp_path)
    for path, text in change.items():
        (candle / path).write_text(text)
    assert main(["wiring", "--candle", str(candle), "--specs", str(specs), "--backend", backend]) == 2
    shown = capsys.readouterr().err
    assert problem in shown
    assert shown.count("\n") == 1


def test_bytes_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    candle, specs = make_tree(tmp_path, GO), make_specs(tmp_path)
    (candle / "candle-core/src/cuda_backend/bad.rs").write_bytes(b"fn f() {}\xff")
    assert main(["wiring", "--candle", str(candle), "--specs", str(specs)]) == 2
    assert "bad.rs: is not UTF-8 text" in capsys.readouterr().err


@pytest.mark.parametrize(("path", "problem"), [("", "holds no folder candle-core/src"), ("no", "is not a folder")])
def test_a_path_that_is_no_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, problem: str
) -> None:
    assert main(["wiring", "--candle", str(tmp_path / path)]) == 2
    assert problem in capsys.readouterr().err


def test_a_source_elsewhere_that_the_parser_does_not_read_is_told(tmp_path: Path) -> None:
    candle = make_tree(tmp_path, GO)
    (candle / "candle-core/src/other.rs").write_text("fn f( {\n")
    wiring = wire(candle, "cuda_backend", load_specs(make_specs(tmp_path)))
    assert wiring.partial == ("candle-core/src/other.rs:1",)
    assert asked(wiring) == {"toy_u8"}


@pytest.mark.skipif("CANDLE_CHECKOUT" not in os.environ, reason="CANDLE_CHECKOUT names no checkout of Candle 2a13b0f3")
def test_candle_itself() -> None:
    wiring = wire(Path(os.environ["CANDLE_CHECKOUT"]), "cuda_backend", load_specs())
    idle = {name for name, asks in wiring.kernels.items() if not asks}
    assert len(wiring.kernels) == 748
    assert wiring.unresolved == ()
    # What nobody asks for: fp8 spelled otherwise (const_set apart), and four families without a caller.
    roots = ("fill_", "sum_", "unormcdf_")
    assert all("8_e4m3" in name or name.startswith(roots) for name in idle)
    assert "const_set_f8_e4m3" not in idle
    missing = {one.name: one for one in wiring.missing}
    assert missing["uexp_f8e4m3"].near == "uexp_fp8_e4m3"
    assert {"ucopy_f8e4m3", "ucopy_i16", "copy2d_i32", "const_set_i16", "cast_u8_i16"} <= missing.keys()
    assert "rope_u8" not in missing
    assert {"mul_mat_vec_q4_K_q8_1_cuda8", "uexp_f32", "badd_bf16", "rope_thd_f16"}.isdisjoint(idle)


def test_analyse_needs_no_other_crate(tmp_path: Path) -> None:
    assert asked(analyse(tmp_path, GO)) == {"toy_u8"}


def test_rust_nested_without_end_is_a_sentence(tmp_path: Path) -> None:
    deep = "(" * 5000 + '"toy_u8"' + ")" * 5000
    for text in ("fn f() { " + "(" * 50_000, f"fn f(d: &Dev) {{ d.get_or_load_func({deep}, &M); }}\n"):
        candle = make_tree(tmp_path, GO + text, "cuda_backend")
        with pytest.raises(RustError) as caught:
            wire(candle, "cuda_backend", load_specs(make_specs(tmp_path)))
        assert ".rs" in str(caught.value) or str(candle) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_fifo_in_place_of_a_rust_file_is_not_waited_for(tmp_path: Path) -> None:
    candle = make_tree(tmp_path, GO, "cuda_backend")
    os.mkfifo(candle / "candle-core" / "src" / "cuda_backend" / "pipe.rs")
    with pytest.raises(RustError, match="it is a FIFO, not a regular file"):
        wire(candle, "cuda_backend", load_specs(make_specs(tmp_path)))


def test_the_names_of_the_backends_own_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a port calls otherwise is found under Candle's name, whole or with an unknown part."""
    code = 'fn go(d: &Dev) { d.get_or_load_func("own_u8", &M); }\n'
    code += 'fn all(d: &Dev, t: &Ext) { d.get_or_load_func(&format!("own2_{}", t.name()), &M); }\n'
    candle = make_tree(tmp_path, code)
    (candle / "candle-parity.toml").write_text('[names]\n"toy_u8" = "own_u8"\n"toy_f*" = "own2_f*"\n')
    assert main(["wiring", "--candle", str(candle), "--specs", str(make_specs(tmp_path))]) == 0
    out = capsys.readouterr().out
    assert "wired                  4" in out
    assert "asked for but missing  0" in out


def test_a_kernel_that_is_two_of_candles_wires_both(tmp_path: Path) -> None:
    specs = load_specs(make_specs(tmp_path))
    rows = [("toy_u8", "own_bits"), ("toy_f32", "own_bits")]
    names = names_of(rows, specs.kernels, "F", alike=lambda one, other: True)
    code = 'fn go(d: &Dev) { d.get_or_load_func("own_bits", &M); }\n'
    wiring = wire(make_tree(tmp_path, code), "cuda_backend", specs, called=names)
    assert {name for name, asks in wiring.kernels.items() if asks} == {"toy_u8", "toy_f32"}


def test_an_unresolved_load_may_ask_for_the_backends_own_names(tmp_path: Path) -> None:
    specs = load_specs(make_specs(tmp_path))
    names = names_of([("toy_u8", "toy_mine")], specs.kernels, "F")
    code = 'fn go(d: &Dev) { d.get_or_load_func(&format!("{}_mine", outside::root()), &M); }\n'
    wiring = wire(make_tree(tmp_path, code), "cuda_backend", specs, called=names)
    assert wiring.not_told.keys() == {"toy_u8"}


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("cast_f8e4m3_i64", None),
        ("cast_f8e4m3_u8", "cast_f8_e4m3_u8"),
        ("dequantize_blocks_q4_0_f32", "dequantize_block_q4_0_f32"),
    ],
)
def test_a_kernel_of_other_dtypes_is_not_the_one_that_is_meant(tmp_path: Path, name: str, near: str | None) -> None:
    code = f'fn go(d: &Dev) {{ d.get_or_load_func("{name}", &M); }}\n'
    wiring = wire(make_tree(tmp_path, code), "cuda_backend", load_specs())
    assert [(one.name, one.near) for one in wiring.missing] == [(name, near)]


def test_a_name_of_candles_for_a_kernel_that_has_another_one_wires_nothing(tmp_path: Path) -> None:
    specs = load_specs(make_specs(tmp_path))
    names = names_of([("toy_u8", "own_u8")], specs.kernels, "F")
    wiring = wire(make_tree(tmp_path, GO), "cuda_backend", specs, called=names)
    assert wiring.kernels["toy_u8"] == ()
    assert [(one.name, one.near) for one in wiring.missing] == [("toy_u8", "own_u8")]
