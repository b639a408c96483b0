"""Mistakes that only large tensors or unusual layouts show, each in a kernel of ``mistakes/large.hip``: the cases that
are there for it fail, and every other case of the kernel passes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from conformance.cases.case import Case
from conformance.cases.large import RULES, is_large
from conformance.cases.rows import parsed
from conformance.cli.main import main
from conformance.spec.load import load_specs
from conformance.verdict.loop import Answers
from conformance.verdict.trials import generated_parts

KERNELS = Path(__file__).parent / "mistakes" / "large.hip"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mistake:
    """A mistake in ``kernel``, and patterns of the case ids, between their brackets, that it fails: each of them."""

    what: str
    kernel: str
    fails: tuple[str, ...]


def _row(what: str, kernel: str, *fails: str) -> Mistake:
    return Mistake(what, kernel, fails)


MISTAKES = (
    _row(
        "contiguous where the last stride is 1 and the first one fits",
        "ucopy_f64",
        "shape=?2,3,4,5?,layout=middle_swapped,*",
        "shape=?2,3,2,4,3?,layout=middle_swapped,*",
    ),
    _row("the same of a reduction", "fast_sum_f32", "*,layout=middle_swapped,*"),
    _row("the same of an image", "upsample_nearest2d_f32", "*,layout=middle_swapped,*"),
    _row("a bias taken for a scalar", "badd_f32", "*rhs=broadcast_all_but_1,*"),
    _row("a bias read with stride 1 along the last axis", "bmul_f32", "*rhs=broadcast_all_but_1,*"),
    _row("a bias taken for a scalar, in one of three operands", "where_u8_f32", "*,t=broadcast_all_but_1,*"),
    _row(
        "a last stride of 0 at a rank above 3",
        "uneg_f32",
        "shape=?2,3,4,5?,layout=broadcast_last,*",
        "*layout=broadcast_all_but_1,*",
    ),
    _row("a stride of 0 in the second position", "affine_f32", "*layout=broadcast_second,*"),
    _row("room for eight dimensions", "uabs_f16", "shape=?2,2,2,2,2,2,2,2,2?,layout=reversed,*"),
    _row("16 bits of an id", "is_u32_f16", "shape=?1,66000,1?,*", "*,far=*"),
    _row("16 bits of a row, gathered", "get_rows_f32", "hidden=3,rows=65600,*"),
    _row("16 bits of a row, multiplied with a vector", "dequantize_mul_mat_vec_q8_0_cuda", "*nrows=65600,*"),
    _row("16 bits of a row, multiplied with a quantized vector", "mul_mat_vec_q8_0_q8_1_cuda1", "*nrows=65600,*"),
    _row("16 bits of a block of weights", "dequantize_block_q8_0_f16", "blocks=65600,*"),
    _row("16 bits of a row of a softmax", "softmax_f32", "shape=?65600,1?,*"),
    _row("16 bits of a row of a norm", "rmsnorm_f32", "shape=?65600,3?,*"),
    _row("16 bits of a row of a sum", "fast_sum_f64", "shape=?65600,2?,*"),
    _row("16 bits of a step", "rope_thd_f32", "shape=?1,65600,1,2?,*"),
    _row("16 bits of the first element of a row that is sorted", "asort_desc_f16", "shape=?33000,2?,*"),
    _row("16 bits of an index in a dimension", "ucopy_u32", "shape=?2,70000?,layout=transposed,*"),
    _row("16 bits of a channel, over all images", "max_pool2d_f32", "shape=?300,250,1,1?,*"),
    _row("16 bits of a row of a copy", "copy2d_f32", "shape=?66000,2?,*"),
    _row(
        "16 bits of the distance of rows",
        "copy2d_f64",
        "shape=?3,5?,src_s=66000,*",
        "*,src_s=21474836*",
    ),
    _row("a row behind the first pass over it", "fast_sum_u32", "shape=?1,2100000?,*"),
    _row("more padding than the taps reach", "conv_transpose1d_f64", "*k=?2?,stride=2,padding=3,*"),
    _row("rows filled up with -infinity", "asort_desc_f32", "*mark=masked", "*mark=infinities"),
    _row("rows filled up with infinity", "asort_asc_f64", "*mark=one_inf", "*mark=infinities"),
    _row("rows filled up with the greatest number", "asort_asc_u32", "*mark=spread", "*mark=ends"),
    _row("rows filled up with the least number", "asort_desc_i64", "*mark=spread", "*mark=ends"),
    _row("quotients of float32", "ucopy_u8", "shape=?4100,4100?,*"),
    _row("quotients of float32, of two operands", "badd_u8", "shape=?4100,4100?,*"),
    _row("quotients of float32, in an image", "im2col_u8", "shape=?1,1,420,420?,*"),
    _row("quotients of float32, in rows", "copy2d_u8", "shape=?4100,4100?,*"),
)


def _judged(folder: Path, *options: str) -> dict[str, dict[str, Any]]:
    """The rows of the kernels, by name."""
    record = folder / "record.json"
    named = [mistake.kernel for mistake in MISTAKES]
    main(["run", "--runtime", "cpu", "-j", "1", "--kernels", str(KERNELS), "--json", str(record), *options, *named])
    return {row["name"]: row for row in json.loads(record.read_text())["kernels"] if row["name"] in named}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return _judged(tmp_path_factory.mktemp("wrong"), "-D", "MISTAKES")


def test_the_cases_have_a_part_in_the_verdict() -> None:
    kernels = load_specs().kernels
    for mistake in MISTAKES:
        judged = [case.text for case in generated_parts(kernels[mistake.kernel]).judged]
        assert [text for text in mistake.fails if not any(fnmatchcase(case, text) for case in judged)] == []


def test_large_cases_have_a_part_in_the_verdict_but_for_blocks_of_one_thread() -> None:
    kernels = load_specs().kernels
    for rule in RULES:
        for name, rows in rule.cases.items():
            judged = {case.fields for case in generated_parts(kernels[name]).judged}
            others = [row for row in parsed(rows) if row not in judged]
            assert all(("block", "1") in row for row in others), (name, others)


def test_a_large_case_runs_in_the_first_order_alone() -> None:
    answers = Answers(lambda case, order: {}, ("forward", "reverse", "shuffle:1"))
    large, other = (Case.parse(f"ucopy_u8(shape=[{size},{size}],layout=transposed,values=wide)") for size in (4100, 52))
    assert (is_large(large), answers.orders_of(large)) == (True, ("forward",))
    assert (is_large(other), answers.orders_of(other)) == (False, answers.orders)


def test_the_page_of_verdicts_names_each_mistake_by_its_kernel_and_cases_that_are_judged() -> None:
    page = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    section = page.partition("## Mistakes that only size or layout shows\n")[2].partition("\n## ")[0]
    kernels = load_specs().kernels
    assert [mistake.kernel for mistake in MISTAKES if f"`{mistake.kernel}`" not in section] == []
    named = [Case.parse(text) for text in re.findall(r"`(\w+\(\w+=[^`]+\))`", section)]
    assert len(named) > 10
    assert [case.id for case in named if case not in generated_parts(kernels[case.kernel]).judged] == []


def _failing(row: dict[str, Any]) -> list[str]:
    """The failing cases, as between the brackets of their ids."""
    return [case for observed in row["observations"] for case in observed["cases"]]


@pytest.mark.nightly("compiles a file of kernels and judges every case of them")
@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.what for mistake in MISTAKES])
def test_the_cases_that_are_there_for_a_mistake_tell_it_and_no_others(
    mistake: Mistake, wrong: dict[str, dict[str, Any]]
) -> None:
    row = wrong[mistake.kernel]
    failing = _failing(row)
    assert row["status"] in ("fail", "crash"), row["message"]
    assert [case for case in failing if not any(fnmatchcase(case, text) for text in mistake.fails)] == []
    assert [text for text in mistake.fails if not any(fnmatchcase(case, text) for case in failing)] == []


@pytest.mark.nightly("compiles a file of kernels and judges every case of them")
def test_the_same_kernels_pass_without_their_mistakes(tmp_path: Path) -> None:
    rows = _judged(tmp_path)
    assert {name: row["failures"] for name, row in rows.items() if row["status"] != "pass"} == {}
    assert rows.keys() == {mistake.kernel for mistake in MISTAKES}
