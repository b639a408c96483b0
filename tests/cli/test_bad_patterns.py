"""Patterns and case ids that name nothing or too much: one sentence and exit code 2, before anything runs."""

from __future__ import annotations

import pytest

from tests.commands import refused

LONG = "9" * 5000


@pytest.mark.slow("hundreds of case ids that cannot be run")
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("*_f32(shape=[3],values=unit)", ["matches no case", "none has shape=[3]"]),
        ("uneg_f3?(shape=[33])", ["matches no case of uneg_f32", "end it with ;*"]),
        ("[u]neg_f32(shape=[3])", ["none has shape=[3]"]),
        ("uneg_f32(layuot=transposed;*)", ["none has a field 'layuot'; did you mean layout?"]),
        ("uneg_f32(layout=transposd;*)", ["none has layout=transposd; did you mean transposed"]),
        ("uneg_f32(layout=transposed;*", ["is not a pattern over cases", "expected KERNEL(field=value;...;*)"]),
        ("uneg_f32(layout=transposed;layout=*;*)", ["a field is given twice"]),
        ("uneg_f32(shape=[32],values=units)", ["did you mean uneg_f32(shape=[32],values=unit)?"]),
        ("(shape=[3])", ["matches no kernel"]),
        ("uneg_f99(shape=[3])", ["uneg_f99", "matches no kernel", "uneg_f"]),
        ("uneg_f32(shape=[99999999999],values=unit)", ["needs more than 268435456 elements"]),
        ("uneg_f32(shape=[65536,65536,65536,65536],values=unit)", ["needs more than 268435456 elements"]),
        (f"uneg_f32(shape=[{LONG}],values=unit)", ["not a case id", "at most 1000 characters"]),
        (f"uneg_f32(shape=[{LONG[:900]}],values=unit)", ["integers of at most 18 digits"]),
        ("uneg_f32(shape=[-1],values=unit)", ["sizes of 0 or more"]),
        ("uneg_f32(shape=[1_000],values=unit)", ["integers"]),
        ("uneg_f32(shape=[\u0663],values=unit)", ["integers"]),
        ("uneg_f32(shape=3,values=unit)", ["must be a list"]),
        ("uneg_f32(shape=[3],values=unit,color=red)", ["unknown field 'color'", "shape"]),
        ("uneg_f32(shape=[3],values=sideways)", ["sideways"]),
        ("uneg_f32(shape=[3],grid=" + LONG[:900] + ")", ["grid must be an integer from"]),
        ("uneg_f32(shape=[3],shape=[4])", ["given twice"]),
        ("uneg_f32(shape=[3],values=unit)\n", ["not a case id"]),
        ("rope_i_f16(shape=[77777777777,3,7,10],values=unit)", ["needs more than 268435456 elements"]),
        ("conv1d_f64(shape=[2,2,4],cout=3,k=[3],padding=2147483647,values=unit)", ["more than 268435456"]),
        ("dequantize_block_q3_K_f32(blocks=2147483647,values=infinite)", ["more than 268435456"]),
        ("mul_mat_q2_K(ncols=256,nrows=5,columns=2147483647,values=random)", ["mul_mat_q2_K"]),
    ],
)
def test_a_case_id_that_cannot_be_run(case: str, words: list[str], cli) -> None:
    for command in ("run", "list"):
        said = cli(command, case)
        refused(said, *words)
        assert len(said.err) < 1000


@pytest.mark.parametrize("pattern", ["u" * 100_000, "*a" * 20_000, "[" * 1000, "[!" + "x" * 3000, "u\u0000neg"])
def test_a_pattern_that_nothing_has(pattern: str, cli) -> None:
    said = cli("list", pattern)
    assert (said.code, said.out) == (2, "")
    assert len(said.err) < 1000


@pytest.mark.slow("hundreds of case ids that cannot be run")
@pytest.mark.parametrize("option", ["--kernels", "--specs", "-I", "--include", "--json"])
def test_a_path_that_is_longer_than_any(option: str, cli) -> None:
    command = "list" if option == "--specs" else "check"
    said = cli(command, option, "d" * 5000)
    assert (said.code, "Traceback" in said.err) == (2, False)
    assert said.err.startswith("candle-parity: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("words", [["--fail-under", "nan"], ["--fail-under", "9" * 400], ["-j", "0"], ["-j", LONG]])
def test_a_number_that_is_none(words: list[str], cli) -> None:
    said = cli("run", "fill_u8", *words)
    assert said.code == 2
    assert words[0] in said.err
