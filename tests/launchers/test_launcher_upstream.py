"""``drift`` and ``new`` for linked launchers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conformance.spec.load import SPEC_FOLDER, load_specs
from tests.commands import answer, refused
from tests.upstream.checkout import SPEC, make_checkout, make_specs

FFI = """\
use core::ffi::c_void;
extern "C" {
    // a comment
    pub fn launch_toy(x: *const c_void, y: *mut f32, n: i32, pitch: usize, stream: i64);
}
"""
STANZA = """
  - family: toys
    launch: toy_launcher
    entry: launcher
    name: "launch_{op}"
    params: {x: in void*, y: out f32*, n: scalar i32, pitch: scalar i64, stream: stream void*}
    row:
      axis: op
      lines: {toy: 3}
    tolerance: *exact
"""


@pytest.mark.slow("compiles launchers and judges them")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("c_void;", "c_void;", "no difference in the parameters of 1 linked launchers"),
        ("n: i32", "n: i64", "launch_toy  ffi.rs:4: parameter 3 is n: i64, the spec has n: scalar i32"),
        ("n: i32", "rows: i32", "parameter 3 is called rows, in the spec n"),
        ("*mut f32", "*const f32", "parameter 2 is y: *const f32, the spec has y: out f32*"),
        ("*mut f32", "f32", "parameter 2 is y: f32, the spec has y: out f32*"),
        ("*mut f32", "*mut f64", "parameter 2 is y: *mut f64, the spec has y: out f32*"),
        ("stream: i64", "stream: *mut c_void", "no difference in the parameters of 1"),
        ("stream: i64", "stream: i32", "parameter 5 is stream: i32, the spec has stream: stream void*"),
        (", stream: i64", "", "4 parameters, the spec has 5"),
        ("}\n", "    fn launch_other();\n}\n", "new launchers: 1\n  launch_other  ffi.rs:5"),
        ("launch_toy", "launch_toys", "gone launchers: 1\n  launch_toy  was toy.cu:3"),
    ],
)
def test_drift_compares_what_rust_declares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, expected: str
) -> None:
    assert old in FFI
    candle = make_checkout(tmp_path / "candle")
    (candle / "candle-kernels" / "src" / "ffi.rs").write_text(FFI.replace(old, new))
    specs = make_specs(tmp_path / "specs", SPEC + STANZA)
    said = answer(capsys, "drift", "--candle", candle, "--specs", specs, "--json", tmp_path / "drift.json")
    assert expected in said.out
    found = json.loads((tmp_path / "drift.json").read_text())["launchers"]
    assert said.code == int(any(found.values()))
    assert said.code == int(not expected.startswith("no difference"))


@pytest.mark.slow("compiles launchers and judges them")
def test_new_adds_a_launcher_like_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "specs"
    shutil.copytree(SPEC_FOLDER, folder)
    name, like = "launch_mmvq_gguf_iq4_nl_f32_plain", "launch_mmvq_gguf_q4_0_f32_plain"
    said = answer(capsys, "new", name, "--like", like, "--line", 9, "--specs", folder, "--same-tolerance", "--write")
    assert said.code == 0, said.err
    assert "(table row)" in said.out
    assert "wired_at, where Candle's Rust calls" in said.out
    specs = load_specs(folder)
    assert (len(specs.kernels), len(specs.launchers)) == (748, 50)
    assert specs.launchers[name].params == specs.launchers[like].params
    other = "moe_gemm_fp8"
    words = ("new", other, "--like", "moe_gemm_gguf", "--line", 9, "--specs", folder, "--ulp", 1, "--source", "a sum")
    said = answer(capsys, *words, "--write")
    assert "(new stanza)" in said.out
    added = load_specs(folder).launchers[other]
    assert (added.entry, added.params[-1].role, added.upstream) == ("launcher", "stream", "moe/moe_gguf.cu:9")
    refused(answer(capsys, *words), f"launcher {other} (moe/moe_gguf.cu:9) is there already")
