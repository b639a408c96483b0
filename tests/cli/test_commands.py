"""The commands on good input: what they print, write and exit with."""

from __future__ import annotations

import json
import shlex
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from conformance.dtypes import dtype
from conformance.replay.archive import SUFFIX, read_archive, write_archive
from conformance.spec.load import SPEC_FOLDER, load_specs
from conformance.verdict.compare import is_nan
from tests.commands import refused

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "reference" / "traces"


def test_list_prints_every_kernel_with_its_parameters_and_cases(cli):
    said = cli("list", "--json")
    rows = {row["name"]: row for row in json.loads(said.out)["kernels"]}
    assert (said.code, len(rows)) == (0, 748)
    row = rows["uexp_f32"]
    assert (row["module"], row["family"]) == ("unary", "unary")
    assert row["cases"] > 20
    assert row["params"][0] == {"name": "numel", "dtype": "size_t", "pointer": False}
    assert row["params"][4] == {"name": "out", "dtype": "f32", "pointer": True}


def test_list_takes_patterns_and_modules(cli):
    said = cli("list", "u*_f32", "--module", "unary")
    assert "uexp_f32" in said.out
    assert "uexp_f64" not in said.out


@pytest.mark.slow("whole runs by the command")
def test_run_counts_all_kernels_whatever_is_selected(cli):
    said = cli("run", "fill_*")
    assert said.code == 0
    assert said.record["summary"]["total"] == 748
    assert said.record["summary"]["pass"] == 8
    assert said.record["summary"]["not_run"] == 740
    assert said.kernel("fill_f32")["source"].startswith("kernels/fill.hip:")
    assert "not executed on an AMD GPU" in said.out


@pytest.mark.slow("whole runs by the command")
def test_the_gate_is_met_or_not(cli):
    assert cli("run", "fill_f32", "--fail-under", "0.1").code == 0
    said = cli("run", "fill_f32", "--fail-under", "50")
    assert said.code == 1
    assert "gate 50%: NOT met" in said.out


@pytest.mark.slow("whole runs by the command")
def test_a_full_case_id_runs_that_case_alone_even_if_it_is_not_in_the_matrix(cli):
    said = cli("run", "uneg_f32(shape=[3,5,7],layout=transposed,values=unit)", "uabs_f32(shape=[41],values=unit)")
    assert said.code == 0
    assert said.kernel("uneg_f32")["cases"] == 1
    assert said.kernel("uabs_f32")["cases"] == 1


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize("wave", [32, 64])
def test_the_wave_size_is_chosen_and_recorded(cli, wave):
    assert cli("run", "fill_f32", "--wave", wave, "--runtime", "cpu").record["run"]["wave"] == wave


@pytest.mark.slow("whole runs by the command")
def test_reports_are_written_from_a_record(cli, tmp_path):
    record = tmp_path / "record.json"
    assert cli("run", "fill_*", "--json", record).code == 0
    paths = {kind: tmp_path / f"parity.{kind}" for kind in ("md", "html", "junit")}
    words = [word for kind, path in paths.items() for word in (f"--{kind}", path)]
    assert cli("report", record, *words).code == 0
    assert "not executed on an AMD GPU" in paths["md"].read_text()
    assert len(ET.parse(paths["junit"]).getroot().findall(".//testcase")) == 748
    assert paths["html"].read_text().startswith("<!")


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize("subject", ["reference", "kernels"])
def test_replay_accepts_what_was_recorded(cli, subject):
    said = cli("replay", TRACES, "uexp_f32", "badd_u8", "cast_f32_f16", "--subject", subject)
    assert said.code == 0
    assert said.record["summary"]["pass"] == 3
    assert said.kernel("uexp_f32")["cases"] >= 2


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize(
    ("words", "kernels"),
    [(["uexp_f32", "badd_u8"], {"uexp_f32", "badd_u8"}), (["fill_u*", "--module", "fill"], {"fill_u8", "fill_u32"})],
)
def test_replay_takes_the_shipped_traces_where_no_folder_is_named(cli, words, kernels):
    said = cli("replay", *words, "--subject", "reference")
    assert said.code == 0
    assert {row["name"] for row in said.record["kernels"] if row["status"] == "pass"} == kernels


def test_a_word_of_replay_that_is_neither_folder_nor_kernel_is_named(cli):
    said = cli("replay", "traecs", "--subject", "reference")
    assert said.code == 2
    assert "the shipped traces: pattern 'traecs' matches no traced kernel" in said.err
    said = cli("replay", "no/such/folder", "--subject", "reference")
    assert said.code == 2
    assert "no/such/folder: no such folder" in said.err


def test_the_reference_is_not_compiled_for_anything(cli):
    said = cli("replay", "uexp_f32", "--subject", "reference", "--arch", "gfx942", "--std", "c++20")
    refused(said, "--subject reference compiles and launches no kernel; leave out --arch, --std")


@pytest.mark.parametrize("name", ["", "gfx942\uff10", "gfx\uff1942"])
@pytest.mark.parametrize("runtime", ["cpu", "isa"])
def test_a_target_that_does_not_exist(cli, runtime, name):
    refused(cli("run", "--runtime", runtime, "--arch", name, "uexp_f32"), f"{name!r} is not an AMD target")


@pytest.mark.slow("whole runs by the command")
def test_a_flag_that_changes_arithmetic_is_passed_recorded_and_remarked(cli, tmp_path):
    body = "#ifdef __FAST_MATH__\n  out[0] = 0;\n#else\n  if (i < numel) out[i] = -inp[i];\n#endif"
    (tmp_path / "unary.hip").write_text(NEG.replace("BODY", body).replace('#include "body.h"\n', ""))
    (tmp_path / "candle-parity.toml").write_text('flags = ["-munsafe-fp-atomics"]\n')
    words = ("run", "uneg_f32(shape=[1],values=unit)", "--runtime", "cpu", "--kernels", tmp_path)
    assert cli(*words).record["run"]["options"] == ["--flag=-munsafe-fp-atomics"]
    said = cli(*words, "--flag=-ffast-math")
    assert said.record["run"]["options"] == ["--flag=-munsafe-fp-atomics", "--flag=-ffast-math"]
    assert "compiled with -ffast-math, which changes NaN, infinities or rounding in every kernel" in " ".join(
        said.out.split()
    )
    assert "compiled with -munsafe" not in said.out
    assert " --flag=-ffast-math " in said.kernel("uneg_f32")["failures"][0]["reproduce"]


def test_a_target_that_no_compiler_knows(cli):
    refused(cli("run", "--arch", "gfx9999", "uexp_f32"), "no AMD GPU is a gfx9999; expected names such as")


def corrupted(module: str, kernel: str, target: Path) -> str:
    """A copy of the traces of ``module`` in which one written element of ``kernel`` lies beyond the tolerance.

    The element is the first that is a number, moved by the spec's bounds and one step more; returns the case id.
    """
    spec = load_specs().kernels[kernel]
    cases, pool = read_archive(TRACES / f"{module}{SUFFIX}")
    case = next(row for row in cases if row["kernel"] == kernel)
    index, argument = next((i, a) for i, a in enumerate(case["args"]) if a.get("role") in ("out", "inout"))
    row = dtype(spec.params[index].dtype)
    answer = pool[argument["expect"]].copy()
    numbers = answer.view(row.numpy)
    usable = ~is_nan(numbers, row) & (answer != 0) & (answer < answer.dtype.type(1 << (8 * row.size - 2)))
    steps = 1 + spec.tolerance.ulp + 2 * spec.tolerance.library_ulp
    answer[np.flatnonzero(usable)[0]] += answer.dtype.type(steps)
    pool["corrupted"] = answer
    argument["expect"] = "corrupted"
    target.mkdir()
    write_archive(target / f"{module}{SUFFIX}", [row for row in cases if row["kernel"] == kernel], pool)
    return f"{kernel}(trace={case['case']})"


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize("subject", ["reference", "kernels"])
@pytest.mark.parametrize(
    ("module", "kernel"),
    [
        ("affine", "affine_f16"),
        ("unary", "uexp_f32"),
        ("unary", "uneg_bf16"),
        ("binary", "bdiv_f64"),
        ("cast", "cast_f32_u8"),
        ("ternary", "where_u8_f32"),
        ("fill", "const_set_f32"),
    ],
)
def test_one_element_one_step_beyond_the_tolerance_is_rejected(cli, tmp_path, module, kernel, subject):
    case = corrupted(module, kernel, tmp_path / "traces")
    said = cli("replay", tmp_path / "traces", kernel, "--subject", subject)
    assert said.code == 1
    assert [failure["case"] for failure in said.kernel(kernel)["failures"]] == [case]
    again = shlex.split(said.kernel(kernel)["failures"][0]["reproduce"])
    assert again[:2] == ["candle-parity", "replay"]
    said = cli(*again[1:])
    assert (said.code, said.kernel(kernel)["failed"]) == (1, 1)


def test_a_word_that_no_command_knows_is_refused(cli):
    assert cli("report", "r.json", "--nonsense").code == 2
    assert cli("replay", TRACES, "--subject", "reference", "uexp_f32", "--nonsense").code == 2


NEG = """#include <hip/hip_runtime.h>
#include "body.h"
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  BODY
}
"""


@pytest.mark.slow("whole runs by the command")
def test_an_edited_header_is_compiled_anew(cli, port):
    """L14: the cache must see a header, not only the file that includes it."""
    folder = port(NEG)
    case = "uneg_f32(shape=[33],values=unit)"
    (folder / "body.h").write_text("#define BODY if (i < numel) out[i] = inp[i];\n")
    assert cli("run", case, "--kernels", folder).kernel("uneg_f32")["status"] == "fail"
    (folder / "body.h").write_text("#define BODY if (i < numel) out[i] = -inp[i];\n")
    assert cli("run", case, "--kernels", folder).kernel("uneg_f32")["status"] == "pass"


@pytest.mark.slow("whole runs by the command")
def test_a_salt_gives_other_data_for_the_same_cases(cli, port):
    folder = port(NEG)
    (folder / "body.h").write_text("#define BODY out[0] = 0;\n")
    case = "uneg_f32(shape=[1],values=unit)"
    said = [cli("run", case, "--kernels", folder, "--seed-salt", salt) for salt in "ab"]
    failures = [one.kernel("uneg_f32")["failures"][0] for one in said]
    assert failures[0]["expected"] != failures[1]["expected"]
    assert "--seed-salt b" in failures[1]["reproduce"]


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_that_a_header_defines_is_found_there(cli, port):
    folder = port('#include <hip/hip_runtime.h>\n#include "include/fill.h"\n', "fill.hip")
    (folder / "include").mkdir()
    (folder / "include/fill.h").write_text(
        '\n\nextern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) {\n'
        "  const size_t step = gridDim.x * blockDim.x;\n"
        "  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += step) buf[i] = value;\n"
        "}\n"
    )
    said = cli("run", "--runtime", "cpu", "--kernels", folder, "fill_u8")
    assert (said.kernel("fill_u8")["status"], said.kernel("fill_u8")["source"]) == ("pass", "port/include/fill.h:3")


@pytest.mark.parametrize(
    ("launch", "lacks"),
    [("argsort", "has no reference; add reference/novel.py"), ("strange", "there is no launch family 'strange'")],
    ids=["reference", "launch family"],
)
def test_a_module_of_which_there_is_only_a_spec_is_refused(cli, tmp_path, launch, lacks):
    specs = tmp_path / "specs"
    shutil.copytree(SPEC_FOLDER, specs)
    text = (specs / "sort.yaml").read_text().replace("module: sort", "module: novel").replace("asort_", "nsort_")
    text = text.replace("family: argsort", f"family: nsort\n    launch: {launch}")
    (specs / "novel.yaml").write_text(text)
    for words in (("list",), ("run", "--runtime", "cpu", "nsort_*")):
        said = cli(*words, "--specs", specs)
        assert said.code == 2
        assert said.err.startswith("candle-parity: kernel nsort_asc_bf16 (specs/novel.yaml): ")
        assert lacks in said.err
