"""What patterns, modules and `list` name, and how the command line says what it does not know."""

from __future__ import annotations

import json
import re
import sys

import pytest

from conformance.cases.case import Case
from conformance.cases.never_launched import never_launched
from tests.commands import refused

MEANT = "did you mean {}?" if sys.version_info < (3, 15) else "maybe you meant '{}'?"
"""Of a command or a choice that is not known: from Python 3.15 on argparse says it before we do."""


def cases_of(cli, *words: str) -> list[str]:
    said = cli("list", "--cases", *words)
    assert said.code == 0
    return said.out.splitlines()


def test_a_pattern_over_cases_selects_by_field(cli):
    every = cases_of(cli, "uexp_f32", "uexp_f16")
    expected = [case for case in every if re.search(r"layout=transposed,values=unit(?!,info|,grid|,block|,inp)", case)]
    assert len(expected) > 2
    assert sorted(cases_of(cli, "uexp_f[13]*(values=unit;layout=transposed;*)")) == sorted(expected)
    assert cases_of(cli, "uexp_f32(shape=[*,19],values=*;layout=transposed)") == [
        "uexp_f32(shape=[17,19],layout=transposed,values=unit)"
    ]


def test_a_pattern_over_cases_leaves_out_what_has_no_part_in_the_verdict(cli):
    found = cases_of(cli, "uexp_f32(*)")
    assert len(found) < len(cases_of(cli, "uexp_f32"))
    assert not any(never_launched("unary", Case.parse(case)) for case in found)
    assert cases_of(cli, "uexp_f32(inp=null;*)")


@pytest.mark.slow("runs the command several times")
def test_a_pattern_over_cases_is_run(cli):
    said = cli("run", "fill_u8(shape=[33];*)", "-q")
    assert (said.code, said.kernel("fill_u8")["cases"]) == (0, len(cases_of(cli, "fill_u8(shape=[33];*)")))


def test_modules_add_up(cli):
    said = cli("list", "--module", "fill", "--module", "sort", "--json")
    assert {row["module"] for row in json.loads(said.out)["kernels"]} == {"fill", "sort"}
    refused(cli("list", "uexp_f32", "--module", "fill", "--module", "sort"), "in module fill or sort")


def test_list_writes_its_answer_to_the_file_of_json(cli, tmp_path):
    said = cli("list", "fill_u8", "--cases", "--json", tmp_path / "list.json")
    assert (said.code, said.out) == (0, "")
    (row,) = json.loads((tmp_path / "list.json").read_text())["kernels"]
    assert row["case_ids"] == cases_of(cli, "fill_u8")
    refused(cli("list", "--json", "fill_u8"), "--json takes the name of a file")


@pytest.mark.slow("whole runs by the command")
def test_a_record_on_standard_output_stands_there_alone(cli):
    said = cli("run", "fill_u8", "--json", "-")
    assert json.loads(said.out)["summary"]["pass"] == 1
    assert "1 of 748 kernels at parity" in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rum"], MEANT.format("run")),
        (["run", "--fail-undr", "3"], "did you mean --fail-under?"),
        (["run", "--runtime", "cpux"], MEANT.format("cpu")),
        (["run", "-j", "x"], "'x' is not a number of workers"),
        (["run", "--compile-timeout", "x"], "'x' is not a number of seconds"),
        (["list", "UEXP_F32"], "did you mean uexp_f32"),
        (["list", "--module", "unarry"], "did you mean unary?"),
    ],
)
def test_what_is_not_known_is_one_sentence_with_what_may_be_meant(cli, words, sentence):
    refused(cli(*words), sentence)


@pytest.mark.slow("whole runs by the command")
def test_the_table_has_what_was_selected(cli):
    said = cli("run", "--module", "fill", "fill_u*")
    table = said.out.split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in table] == ["candle-parity", "module", "fill", "·"]
    assert "cpu wave64: 2 of 2 selected pass (of 748)\n" in said.out
    assert "2 of 748 kernels at parity (0.2%)" in said.out
    assert not re.search("\x1b", said.out)


@pytest.mark.slow("runs the command several times")
def test_quiet_is_the_verdict_and_errors(cli):
    said = cli("run", "fill_u8", "-q", "--fail-under", "50")
    verdict, gate = said.out.splitlines()
    assert verdict.startswith("cpu wave64: 1 of 1 selected passes (of 748); 1 of 748 kernels at parity (0.1%); ")
    assert verdict.endswith("not executed on an AMD GPU")
    assert gate.endswith("NOT met")
    assert said.err == ""


FILL = """#include <hip/hip_runtime.h>
extern "C" __global__ void fill_%s(%s *buf, %s value, size_t numel) {}
"""


@pytest.mark.slow("whole runs by the command")
def test_verbose_shows_every_failing_kernel(cli, port):
    types = {f"u{bits}": f"uint{bits}_t" for bits in (8, 32)} | {"f32": "float", "f64": "double"}
    text = "".join(FILL % (name, kind, kind) for name, kind in types.items())
    folder = port(text)
    said = cli("run", "--runtime", "cpu", "--kernels", folder, "-v", *(f"fill_{name}" for name in types))
    assert said.code == 1
    assert all(f"\nfill_{name}: fail" in said.out for name in types)
