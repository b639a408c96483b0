"""Bad input: one clear sentence and exit code 2, or the kernel's own status; never a traceback or a lost record."""

from __future__ import annotations

import os
import re
import shutil

import numpy as np
import pytest

from conformance.replay.archive import SUFFIX, write_archive
from conformance.spec.load import SPEC_FOLDER
from tests.commands import refused

NEG = """#include <hip/hip_runtime.h>
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  %s
}
"""


def test_a_pattern_that_matches_nothing(cli):
    refused(cli("run", "uexpp_f32"), "uexpp_f32", "matches no kernel", "uexp_f32")


@pytest.mark.parametrize("case", ["uneg_f32(shape=[3", "uneg_f32(shape=[3],layout=sideways,values=special)"])
def test_a_case_id_that_cannot_be_built(cli, case):
    refused(cli("run", case), case)


def test_a_module_that_does_not_exist(cli):
    refused(cli("list", "--module", "unery"), "unery", "unary")


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_behind_a_condition_on_the_target(cli, port):
    folder = port(f"#ifdef __gfx942__\n{NEG % 'out[0] = -inp[0];'}#endif\n")
    words = ("run", "uneg_f32(shape=[1],values=unit)", "--runtime", "cpu", "--kernels", folder)
    said = cli(*words)
    assert said.code == 2
    assert (
        "unary.hip mentions the name, but defines no such kernel in this build: look at its #if; --arch GFX" in said.err
    )
    assert cli(*words, "--arch", "gfx942").code == 0


@pytest.mark.slow("whole runs by the command")
def test_the_error_of_a_macro_is_printed_for_one_of_its_kernels(cli, port):
    uses = "".join(f"K(fill_{name}, {kind})\n" for name, kind in (("u8", "unsigned char"), ("f32", "float")))
    macro = '#define K(N, T) extern "C" __global__ void N(T *buf, T value, size_t numel) { *buf = nope(value); }\n'
    said = cli("run", "--runtime", "cpu", "--kernels", port(f"#include <hip/hip_runtime.h>\n{macro}{uses}", "fill.hip"))
    assert said.out.count("error: ") == 1


def test_a_kernels_path_that_does_not_exist(cli, tmp_path):
    refused(cli("run", "uneg_f32", "--kernels", tmp_path / "absent"), "absent", "does not exist")


def test_a_kernels_path_without_kernels(cli, tmp_path):
    refused(cli("run", "uneg_f32", "--kernels", tmp_path), "holds no kernel file", ".hip")


def test_a_kernels_path_with_a_line_break(cli, tmp_path):
    (tmp_path / "two\nlines").mkdir()
    (tmp_path / "two\nlines" / "unary.hip").write_text(NEG % "")
    refused(cli("run", "uneg_f32", "--kernels", tmp_path / "two\nlines"), "has a line break in its path; rename it")


@pytest.mark.parametrize("flag", ["-fplugin=x.so", "-o", "-Xclang", "ffast-math"])
def test_a_flag_that_may_do_more_than_change_code(cli, flag):
    refused(cli("run", "uneg_f32", f"--flag={flag}"), f"--flag '{flag}' is not an option that only changes code")


def test_a_thread_order_that_does_not_exist(cli):
    refused(cli("run", "uneg_f32", "--runtime", "cpu", "--order", "sideways"), "sideways", "shuffle:SEED")


def test_an_empty_list_of_targets_is_not_none(cli, port):
    refused(cli("check", "--kernels", port(NEG % ""), "--arch", ""), "no target is named")


def test_a_malformed_spec_names_file_and_line(cli, tmp_path):
    folder = tmp_path / "specs"
    shutil.copytree(SPEC_FOLDER, folder)
    text = (folder / "affine.yaml").read_text()
    (folder / "affine.yaml").write_text(text.replace("in size_t*", "in sizet*", 1))
    line = 1 + text[: text.index("in size_t*")].count("\n")
    refused(cli("run", "uneg_f32", "--specs", folder), f"affine.yaml:{line}", "sizet")


@pytest.mark.slow("runs the command for each row")
def test_no_compiler_at_all(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("CANDLE_PARITY_CXX", str(tmp_path / "no-such-compiler"))
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    refused(cli("run", "uneg_f32", "--runtime", "cpu"), "no-such-compiler")


@pytest.mark.slow("whole runs by the command")
def test_a_trace_with_a_missing_array(cli, tmp_path):
    args = [{"kind": "scalar", "dtype": "uint64", "value": "00" * 8}] * 2 + [{"kind": "null"}]
    args += [{"kind": "buf", "name": "inp", "role": "in", "dtype": "float32", "n": 3, "data": "aa"}]
    args += [
        {
            "kind": "buf",
            "name": "out",
            "role": "out",
            "dtype": "float32",
            "n": 3,
            "data": None,
            "fill": 165,
            "expect": "bb",
        }
    ]
    row = {"kernel": "uneg_f32", "case": "tiny", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": args}
    write_archive(tmp_path / f"unary{SUFFIX}", [row], {"aa": np.zeros(3, np.uint32)})
    for subject in ("reference", "kernels"):
        said = cli("replay", tmp_path, "--subject", subject, "--runtime", "cpu")
        refused(said, "unary.traces.xz", "array bb", "missing")


def test_a_record_that_is_none(cli, tmp_path):
    (tmp_path / "r.json").write_text("{")
    refused(cli("report", tmp_path / "r.json"), "r.json")
    refused(cli("report", tmp_path / "absent.json"), "absent.json")


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_that_does_not_compile(cli, port):
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", port(NEG % "out[0] = undeclared_name;"))
    assert said.code == 1
    row = said.kernel("uneg_f32")
    assert row["status"] == "compile_error"
    assert "undeclared_name" in row["message"]
    assert "unary.hip" in row["message"]
    assert ":3:" in row["message"]
    assert said.record["summary"]["total"] == 748


@pytest.mark.slow("whole runs by the command")
def test_an_error_in_a_header_of_the_port_names_it_as_sources_are_named(cli, port):
    port('#pragma once\n#include "gone.h"\n', "inner.h")
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", port('#include "inner.h"\n' + NEG % ""))
    assert said.kernel("uneg_f32")["message"].startswith("port/inner.h:2:")


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize("kind", ["NUL", "link to nothing", "include of a FIFO"])
def test_a_source_that_cannot_be_used_costs_its_own_kernels(kind, cli, port):
    folder = port("// a \0 in a comment\n" + NEG % "")
    words = "unary.hip:1: a NUL byte at byte 6 (line 1)"
    if kind == "link to nothing":
        (folder / "unary.hip").unlink()
        (folder / "unary.hip").symlink_to("nowhere")
        words = "unary.hip: cannot be read (No such file or directory)"
    elif kind == "include of a FIFO":
        os.mkfifo(folder / "pipe.h")
        (folder / "unary.hip").write_text('#include "pipe.h"\n' + NEG % "")
        words = "unary.hip:1: includes "
    (folder / "fill.hip").write_text(
        'extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, const size_t numel) {\n'
        "  if (threadIdx.x < numel) buf[threadIdx.x] = value;\n}\n"
    )
    said = cli("run", "uneg_f32", "fill_u8(shape=[3],value=pattern)", "--runtime", "cpu", "--kernels", folder)
    assert (said.code, said.kernel("uneg_f32")["status"]) == (1, "compile_error")
    assert words in said.kernel("uneg_f32")["message"]
    assert said.kernel("fill_u8")["status"] == "pass"


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize(
    "line",
    [
        '\ufeff#include "pipe.h"',
        '/* c */ #include "pipe.h"',
        '#/* c */include "pipe.h"',
        '%:include "pipe.h"',
        '#define PIPE "pipe.h"\n#include PIPE',
        "#define PIPE(a) <pi##a>\n#include PIPE(pe.h)",
        'asm(".incbin \\"port/pipe.h\\"");',
        '#include "zeros.h"',
    ],
)
def test_a_fifo_that_is_included_in_an_odd_way_is_refused_at_once(line, cli, port):
    folder = port(f"{line}\n{NEG % ''}")
    os.mkfifo(folder / "pipe.h")
    (folder / "zeros.h").symlink_to("/dev/zero")
    (folder / "fill.hip").write_text(
        'extern "C" __global__ void fill_u8(unsigned char *p, unsigned char v, size_t n) {}'
    )
    said = cli("run", "uneg_f32", "fill_u8(shape=[3],value=pattern)", "--runtime", "cpu", "--kernels", folder)
    row = said.kernel("uneg_f32")
    assert row["status"] == "compile_error"
    assert re.search(r"includes? .*, which is (a FIFO|a character device)", row["message"])
    assert said.kernel("fill_u8")["status"] == "fail", "it was compiled"


@pytest.mark.slow("whole runs by the command")
def test_a_header_that_is_a_fifo_does_not_end_a_run_of_everything(cli, port):
    """`run` without patterns looks for launchers first, in headers too."""
    folder = port('#include "pipe.h"\n' + NEG % "")
    os.mkfifo(folder / "pipe.h")
    said = cli("run", "--runtime", "cpu", "--kernels", folder)
    assert (said.code, said.kernel("uneg_f32")["status"]) == (1, "compile_error")


@pytest.mark.slow("whole runs by the command")
def test_a_missing_symbol(cli, port):
    said = cli("run", "uneg_f64", "--runtime", "cpu", "--kernels", port(NEG % ""))
    assert (said.code, said.kernel("uneg_f64")["status"]) == (2, "missing")
    assert "define none of the 1 selected kernels, such as uneg_f64" in said.err
    assert cli("run", "uneg_f64", "--kernels", port(NEG % ""), "--fail-under", "0.1").code == 2


@pytest.mark.slow("whole runs by the command")
def test_a_wrong_parameter_list(cli, port):
    text = (NEG % "").replace("const float *inp", "const double *inp")
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", port(text))
    row = said.kernel("uneg_f32")
    assert (said.code, row["status"]) == (1, "signature")
    assert "parameter 4" in row["message"]


@pytest.mark.slow("whole runs by the command")
def test_a_forgotten_extern_c_is_a_missing_symbol(cli, port):
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", port((NEG % "").replace('extern "C" ', "")))
    assert said.kernel("uneg_f32")["status"] == "missing"


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("out[(size_t)1 << 40] = 1;", "crash", "uneg_f32"),
        ("if (threadIdx.x == 3) __builtin_trap();", "crash", "uneg_f32"),
        ("volatile size_t n = numel; while (n == numel || n != 0) { n = numel + 1; }", "timeout", "uneg_f32"),
        ("if (threadIdx.x < 7) __syncthreads();\n  else if (threadIdx.x < 9) { __syncthreads(); }", "crash", "barrier"),
        ("out[0] = 1;", "fail", "out["),
    ],
)
def test_a_kernel_that_goes_wrong_costs_itself_and_not_the_run(cli, port, body, status, words):
    text = (NEG % body) + (NEG % "").replace("uneg_f32", "uabs_f32")
    cases = [f"{name}(shape=[40],layout=contiguous,values=special)" for name in ("uneg_f32", "uabs_f32")]
    said = cli("run", *cases, "--runtime", "cpu", "--kernels", port(text), "-j", "1")
    assert said.code == 1
    row = said.kernel("uneg_f32")
    assert row["status"] == status
    assert words in row["failures"][0]["why"]
    assert "candle-parity run" in row["failures"][0]["reproduce"]
    assert row["failures"][0]["reproduce"] in said.out
    why = row["failures"][0]["why"].partition(" at port/")[0]  # places are shown from the working directory
    assert why in " ".join(said.out.split())
    assert said.kernel("uabs_f32")["status"] == "fail"


@pytest.mark.slow("runs the command for each row")
def test_a_truncated_code_object(cli, tmp_path):
    (tmp_path / "unary.hsaco").write_bytes(b"\x7fELF" + bytes(90))
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", tmp_path)
    row = said.kernel("uneg_f32")
    assert (said.code, row["status"]) == (1, "compile_error")
    assert "unary.hsaco" in row["message"]


@pytest.mark.slow("runs the command for each row")
def test_a_file_that_is_no_code_object(cli, tmp_path):
    (tmp_path / "unary.hsaco").write_text("hello")
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", tmp_path)
    assert said.kernel("uneg_f32")["status"] == "compile_error"
    assert "not a code object" in said.kernel("uneg_f32")["message"]


def test_a_folder_that_is_not_there_is_told_before_anything_is_judged(cli, tmp_path):
    path = tmp_path / "deep" / "record.json"
    refused(cli("run", "uneg_f32", "--json", path), path, "does not exist; make it first")
