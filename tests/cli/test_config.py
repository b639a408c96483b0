"""``candle-parity.toml`` and the options of the compiler, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.port import config

UNEG = """
#ifdef {macro}
#error {macro} is defined
#endif
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {{
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) out[i] = -inp[i];
}}
"""
CASE = "uneg_f32(shape=[64],values=unit)"


@pytest.mark.slow("whole runs by the command")
def test_a_macro_of_the_compilers_is_taken_back(cli, port) -> None:
    """As -U does it with AMD's compiler, which defines this one itself."""
    folder = port(UNEG.format(macro="__HIP_DEVICE_COMPILE__"))
    assert cli("run", "--runtime", "cpu", "--kernels", folder, CASE).kernel("uneg_f32")["status"] == "compile_error"
    said = cli("run", "--runtime", "cpu", "--kernels", folder, "-U", "__HIP_DEVICE_COMPILE__", CASE)
    assert (said.code, said.kernel("uneg_f32")["status"]) == (0, "pass")


@pytest.mark.slow("whole runs by the command")
def test_a_file_elsewhere_names_the_tree_and_its_flags(
    cli, port, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = port(UNEG.format(macro="WRONG"))
    (folder / "candle-parity.toml").write_text('defines = ["WRONG"]')
    file = tmp_path / "declared" / "port.toml"
    file.parent.mkdir()
    file.write_text('kernels = "../port"\nforced_includes = ["hip/hip_fp16.h"]\nstd = "c++20"\n')
    said = cli("run", "--runtime", "cpu", "--config", file, CASE)
    assert said.code == 0, said.err
    assert said.record is not None
    assert Path(said.record["run"]["kernels"]).resolve() == folder
    # The command line wins, in that too; and what fails is shown again by the command that the record has.
    said = cli("run", "--runtime", "cpu", "--config", file, "-D", "WRONG", CASE)
    assert said.kernel("uneg_f32")["status"] == "compile_error"
    assert cli("check", "--config", file, "uneg_f32").code == 0
    monkeypatch.chdir(tmp_path)
    (tmp_path / "candle-parity.toml").write_text('kernels = "port"\n')
    assert cli("run", "--runtime", "cpu", CASE).kernel("uneg_f32")["source"].startswith("port/unary.hip")


@pytest.mark.slow("whole runs by the command")
def test_the_file_is_read_once(cli, port, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, read = port(UNEG.format(macro="WRONG")), []
    (folder / "candle-parity.toml").write_text('runtime = "cpu"\n')
    known = config._toml
    monkeypatch.setattr(config, "_toml", lambda file: [read.append(file.name), known(file)][1])
    assert cli("run", "--kernels", folder, CASE).record["run"]["runtime"] == "cpu"
    assert read == ["candle-parity.toml"]


@pytest.mark.slow("whole runs by the command")
def test_a_header_of_the_compilers_may_be_forced(cli, port) -> None:
    text = 'extern "C" __global__ void uneg_f16(size_t numel, size_t num_dims, const size_t *info, const __half *inp, '
    folder = port(text + "__half *out) { if (threadIdx.x < numel) out[threadIdx.x] = __hneg(inp[threadIdx.x]); }")
    for words in ((), ("--dialect", "hip")):
        said = cli("run", "--runtime", "cpu", "--kernels", folder, "--include", "hip/hip_fp16.h", *words,
                   "uneg_f16(shape=[64],values=unit)")  # fmt: skip
        assert said.code == 0, said.err
    assert cli("check", "--kernels", folder, "--include", "hip/hip_fp16.h", "uneg_f16").code == 0


@pytest.mark.slow("runs the command several times")
@pytest.mark.parametrize("command", ["run", "check", "build", "bench", "record"])
def test_a_bad_file_is_one_sentence_with_file_and_key(cli, port, tmp_path: Path, command: str) -> None:
    file = tmp_path / "port.toml"
    file.write_text('kernel = "port"\n')
    words = [command, *([tmp_path / "out"] if command == "record" else [])]
    said = cli(*words, "--config", file)
    assert said.code == 2
    assert f"{file}: unknown key 'kernel'" in said.err
    assert cli(*words, "--config", tmp_path / "absent.toml").code == 2


def test_a_tree_that_is_not_there_is_blamed_on_the_file_that_names_it(cli, tmp_path: Path) -> None:
    file = tmp_path / "port.toml"
    file.write_text('kernels = "no/port"\n')
    for command in ("run", "check", "build"):
        said = cli(command, "--config", file)
        assert said.code == 2
        assert f"{file}: kernels: kernels path {tmp_path}/no/port does not exist; give a folder" in said.err


TAN = UNEG.replace("uneg_f32", "negated_f32").replace("{macro}", "WRONG").replace("{{", "{").replace("}}", "}")


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_is_judged_under_candles_name(cli, port) -> None:
    """By a name of the port's: the record and every report keep Candle's and tell the port's."""
    folder = port(TAN)
    file = folder / "candle-parity.toml"
    assert cli("run", "--runtime", "cpu", "--kernels", folder, CASE).code == 2
    file.write_text('[names]\n"uneg_f32" = "negated_f32"\n')
    said = cli("run", "--runtime", "cpu", "--kernels", folder, CASE)
    assert said.code == 0, said.err
    row = said.kernel("uneg_f32")
    assert (row["status"], row["port_name"], row["source"]) == ("pass", "negated_f32", "port/unary.hip:5")
    said = cli("check", "--kernels", folder, "uneg_f32")
    assert said.code == 0, said.out
    assert "1 of Candle's 748 kernels by name, 1 with Candle's parameters; 0 findings" in said.out
    file.write_text('[names]\n"uneg_f32" = "minus_f32"\n')
    said = cli("check", "--kernels", folder, "uneg_f32")
    assert said.code == 1
    assert 'names: "uneg_f32" = "minus_f32" matches no kernel of the port, such as minus_f32; remove it' in said.out
    said = cli("run", "--runtime", "cpu", "--kernels", folder, CASE)
    assert said.kernel("uneg_f32")["message"].startswith("no source defines minus_f32")
    file.write_text('[names]\n"uneg_f3" = "minus_f32"\n')
    said = cli("run", "--runtime", "cpu", "--kernels", folder, CASE)
    assert said.code == 2
    assert (
        f'{file}: names: "uneg_f3" = "minus_f32" matches none of the 748 kernels and 49 launchers of the specs'
        in said.err
    )


def test_near_names_get_the_lines_to_add(cli, port) -> None:
    both = TAN.replace("negated_f32", "uneg_hip_f32") + TAN.replace("negated_f32", "uabs_hip_f32")
    said = cli("check", "--kernels", port(both), "u*_f32")
    assert '\n  [names]\n  "uneg_f32" = "uneg_hip_f32"\n  "uabs_f32" = "uabs_hip_f32"\n' in f"{said.out}\n"


@pytest.mark.slow("starts the command several times")
def test_new_knows_the_ports_names(cli, tmp_path: Path) -> None:
    file = tmp_path / "port.toml"
    file.write_text('[names]\n"uneg_f32" = "negated_f32"\n')
    words = ("new", "usquare_f32", "--same-tolerance", "--like")
    assert cli(*words, "negated_f32", "--config", file).out == cli(*words, "uneg_f32").out


FILL = """
extern "C" __global__ void fill_u32(unsigned *buf, unsigned value, size_t numel) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)
    buf[i] = value;
}
"""


@pytest.mark.nightly("whole runs by the command")
def test_a_known_failure_keeps_its_status_and_costs_no_exit_code(cli, port, tmp_path: Path) -> None:
    folder = port(FILL.replace("= value", "= numel > 1000 ? 0 : value"), "fill.hip")
    known = '[[known_failures]]\nkernels = "fill_u3*"\nreason = "short ones only"\nlink = "https://e.org/7"\n'
    file = folder / "candle-parity.toml"
    words = ("run", "--runtime", "cpu", "--kernels", folder, "fill_u32", "--order", "forward")
    assert cli(*words).code == 1
    file.write_text(known + 'case = "*shape=[*],*"\n')
    md, junit = tmp_path / "r.md", tmp_path / "r.xml"
    said = cli(*words, "--md", md, "--junit", junit)
    assert said.code == 0, said.err
    row = said.kernel("fill_u32")
    assert (row["status"], row["known_reason"]) == ("fail", "short ones only (https://e.org/7)")
    assert "note: 1 kernel fails for a known reason: short ones only (https://e.org/7) (fill_u32)" in said.out
    text = md.read_text()
    assert "### Known failures, declared by the port (1)" in text
    assert "### Wrong answers" not in text
    assert 'failures="1"' not in junit.read_text()
    # Of one case nothing is said but that; a gate counts what passes.
    assert cli(*words[:-3], "fill_u32(shape=[1],value=pattern)").code == 0
    assert cli(*words, "--fail-under", "0.1").code == 1
    file.write_text(known + 'case = "*shape=[1],*"\n')
    said = cli(*words)
    assert said.code == 1
    assert f"{file}: known_failures, row 1 ('fill_u3*'): fill_u32 fails, but in no case like" in said.err
    file.write_text(known.replace("fill_u3", "fill_u9"))
    assert cli(*words).code == 2
    port(FILL, "fill.hip")
    file.write_text(known)
    said = cli(*words)
    assert said.code == 1
    assert f"{file}: known_failures, row 1 ('fill_u3*'): fill_u32 passes; remove it" in said.err


SATURATES = """
extern "C" __global__ void cast_f32_u8(size_t numel, size_t num_dims, const size_t *info, const float *inp,
                                       unsigned char *out) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < numel) out[i] = inp[i] > 0 ? (inp[i] < 255 ? (unsigned char)(int)inp[i] : 255) : 0;
}
"""
WIDE = "cast_f32_u8(shape=[257],values=wide)"


@pytest.mark.slow("whole runs by the command")
def test_an_upstream_defect_that_the_port_fixes(cli, port) -> None:
    folder = port(SATURATES, "cast.hip")
    said = cli("run", "--runtime", "cpu", "--kernels", folder, WIDE)
    assert said.code == 1
    assert 'add fixes = ["byte-saturation"] to candle-parity.toml' in said.kernel("cast_f32_u8")["failures"][0]["why"]
    assert 'The port is right where Candle has a defect: fixes = ["byte-saturation"]' in said.out
    file = folder / "candle-parity.toml"
    file.write_text('fixes = ["cast_f32_*"]\n')
    said = cli("run", "--runtime", "cpu", "--kernels", folder, WIDE)
    assert said.code == 0, said.err
    assert said.kernel("cast_f32_u8")["fixed"].startswith("Goes through u32 and keeps the low byte")
    assert "note: fixed here, wrong upstream: Goes through u32" in said.out
    port(SATURATES.replace("inp[i] < 255 ?", "true ?"), "cast.hip")
    said = cli("run", "--runtime", "cpu", "--kernels", folder, WIDE)
    assert said.code == 1
    assert "fixed here, wrong upstream" not in said.out.replace("to be fixed here, wrong upstream", "")
    file.write_text('fixes = ["uneg_f32"]\n')
    assert cli("run", "--runtime", "cpu", "--kernels", folder, WIDE).code == 2


FOUR_EACH = """
extern "C" __global__ void fill_u32(unsigned *buf, unsigned value, size_t numel) {
  for (size_t i = 0; i < 4; ++i) {
    size_t at = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 4 + i;
    if (blockDim.x == 64 && at < numel) buf[at] = value;
  }
}
"""


@pytest.mark.nightly("whole runs by the command")
def test_a_geometry_of_the_ports_own(cli, port, tmp_path: Path) -> None:
    """A quarter of the threads in blocks of 64: right in the port's launches, wrong in Candle's."""
    folder = port(FOUR_EACH, "fill.hip")
    words = ("run", "--runtime", "cpu", "--kernels", folder, "fill_u32")
    assert cli(*words).kernel("fill_u32")["status"] == "fail"
    file = folder / "candle-parity.toml"
    file.write_text(
        '[[launch]]\nkernels = "fill_u*"\ngrid = "max(1, ceildiv(numel, 4 * 64))"\nblock = 64\n'
        '[[known_failures]]\nkernels = "fill_u8"\nreason = "not ported"\n'
    )
    md = tmp_path / "r.md"
    said = cli(*words, "--md", md)
    assert said.code == 0, said.err
    assert said.kernel("fill_u32")["geometry"] == "grid (max(1, ceildiv(numel, 4 * 64)), 1, 1), block (64, 1, 1)"
    assert "launched with the port's own geometry: grid" in md.read_text().replace("’", "'")
    bench = cli("bench", "--runtime", "cpu", "--kernels", folder, "fill_u32", "--json", tmp_path / "b.json")
    assert bench.code == 0, bench.err
    assert json.loads((tmp_path / "b.json").read_text())["workloads"][0]["block"] == [64, 1, 1]
    file.write_text('[[launch]]\nkernels = "fill_u32"\ngrid = "ceildiv(numel, 256)"\nblock = 64\n')
    row = cli(*words).kernel("fill_u32")
    assert (row["status"], row["failed"]) == ("fail", 1)
    assert "candle-parity.toml: launch, row 1 ('fill_u32') makes grid x 0 here" in row["failures"][0]["why"]
    assert row["observations"][0]["evidence"]["fault"] == "impossible geometry"
    file.write_text('[[launch]]\nkernels = "fill_u32"\ngrid = "ceildiv(nrows, 256)"\n')
    said = cli(*words)
    assert said.code == 2
    assert f"{file}: launch, row 1: 'ceildiv(nrows, 256)': 'nrows' is not known; there are block_x" in said.err


SHORT = FILL.replace("size_t numel) {", "size_t numel) {\n  if (numel > 1000) __builtin_trap();")


@pytest.mark.nightly("whole runs by the command")
def test_launches_that_the_port_never_makes(cli, port, tmp_path: Path) -> None:
    """They have no part in the verdict and are counted; asked for by its id such a case is judged."""
    folder = port(SHORT, "fill.hip")
    words = ("run", "--runtime", "cpu", "--kernels", folder, "--order", "forward")
    assert cli(*words, "fill_u32").kernel("fill_u32")["status"] == "crash"
    file = folder / "candle-parity.toml"
    file.write_text('[[launch]]\nkernels = "fill_u32"\nwhen = "numel <= 1000"\n')
    md = tmp_path / "r.md"
    said = cli(*words, "fill_u32", "--md", md)
    assert said.code == 0, said.err
    row = said.kernel("fill_u32")
    assert (row["status"], row["launched_when"], row["geometry"]) == ("pass", "numel <= 1000", None)
    left = row["never_launched"]
    assert 0 < left <= row["unasked"]
    note = f"launched only when numel <= 1000, as the port declares: {left} cases of 1 kernel have no part in a verdict"
    assert note in said.out
    assert "launched by the port: only when numel" in md.read_text()
    robust = cli(*words, "fill_u32", "--all-cases").kernel("fill_u32")
    assert (robust["status"], robust["robustness"]["failed"]) == ("pass", left)
    assert cli(*words, "fill_u32(shape=[4097],value=pattern)").code == 1
    file.write_text('[[launch]]\nkernels = "fill_u32"\nwhen = "numel < 0"\n')
    said = cli(*words, "fill_u32")
    assert said.code == 2
    assert "launch, row 1 ('fill_u32'): when: 'numel < 0' holds in none of the" in said.err


@pytest.mark.nightly("whole runs by the command")
def test_kernels_that_the_port_does_not_have(cli, port, tmp_path: Path) -> None:
    """They are missing, for the reason that the port gives, and no error; one that is there is judged, and the row is
    the error. A launcher is not built."""
    folder = port(FILL + "// moe_gemm_wmma\n", "fill.hip")
    file, md = folder / "candle-parity.toml", tmp_path / "r.md"
    words = ("run", "--runtime", "cpu", "--kernels", folder, "--order", "forward", "fill_u32", "fill_u8")
    assert cli(*words).code == 1
    rows = '[[exclude]]\nkernels = "fill_u8"\nreason = "no bytes here"\n'
    file.write_text(rows + '[[exclude]]\nkernels = "moe_gemm_*"\nreason = "no WMMA"\n')
    said = cli(*words, "--md", md)
    assert said.code == 0, said.err
    row = said.kernel("fill_u8")
    assert (row["status"], row["known_reason"]) == ("missing", "no bytes here")
    assert said.record is not None
    assert said.record["summary"]["missing"] == 1
    assert "1 kernel is missing, as the port declares: no bytes here (fill_u8)" in said.out
    assert "### Not in the port, as it declares (1)" in md.read_text()
    assert cli(*words[:-2], "moe_gemm_wmma", "fill_u32").code == 0
    assert cli(*words, "--fail-under", "100").code == 1
    said = cli("check", "--kernels", folder, "fill_u32", "fill_u8")
    assert (said.code, "it does not have 1 of the kernels and launchers: no bytes here" in said.out) == (0, True)
    file.write_text(rows.replace("u8", "u*"))
    said = cli(*words)
    assert said.code == 1
    assert f"{file}: exclude, row 1 ('fill_u*'): the port has fill_u32 at port/fill.hip:2; remove it" in said.err
    assert cli("check", "--kernels", folder, "fill_u32").code == 1


@pytest.mark.slow("whole runs by the command")
def test_an_alias_that_the_port_does_not_bear_out(cli, port) -> None:
    """Told by a run that has tried all of its kernels, and by no other."""
    folder = port(FILL, "fill.hip")
    file = folder / "candle-parity.toml"
    file.write_text('[names]\n"fill_u8" = "own_u8"\n"fill_f*" = "own_f*"\n')
    said = cli("run", "--runtime", "cpu", "--kernels", folder, "fill_u32", "fill_u8", "fill_f32")
    assert said.code == 1
    problem = f'{file}: names: "fill_u8" = "own_u8" matches no kernel of the port, such as own_u8; remove it'
    assert said.err.count("matches no kernel of the port") == 1
    assert problem in said.err
