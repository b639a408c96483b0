"""Every kind of wrong spec gives one line with the file, the line, what was expected and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.spec import SpecError
from conformance.spec.load import load_specs

GOOD = """\
module: toy
title: A toy
source: toy.cu
source_lines: 9
families:
  - family: toy
    name: "t{op}_{dtype}"
    spelling: {f8e4m3: f8_e4m3}
    variant: {src_dtype: "{dtype}"}
    params:
      numel: scalar size_t
      inp: in {dtype}*
      out: out {dtype}*
    table:
      rows: op
      columns: {dtype: [f32, f8e4m3]}
      lines:
        exp: [1, 2]
        log: [3, ~]
    tolerance:
      - when: {op: [exp]}
        ulp: 0
        library_ulp: {f32: 2, f8e4m3: 1}
        source: a book
      - {when: {op: [log]}, ulp: 1, library_ulp: 0, source: a book}
"""


def write(folder: Path, text: str, name: str = "toy.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def failure(folder: Path) -> SpecError:
    with pytest.raises(SpecError) as caught:
        load_specs(folder)
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_good_spec_loads(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    kernels = load_specs(tmp_path).kernels
    assert list(kernels) == ["texp_f32", "texp_f8_e4m3", "tlog_f32"]
    kernel = kernels["texp_f8_e4m3"]
    assert kernel.variant == {"op": "exp", "dtype": "f8e4m3", "src_dtype": "f8e4m3"}
    assert kernel.upstream == "toy.cu:2"
    assert kernel.tolerance.library_ulp == 1
    assert [(p.name, p.dtype, p.pointer, p.role) for p in kernel.params] == [
        ("numel", "size_t", False, "scalar"),
        ("inp", "f8e4m3", True, "in"),
        ("out", "f8e4m3", True, "out"),
    ]


# What to replace in the good spec, by what, the line of the complaint, and what it must say.
WRONG: dict[str, tuple[str, str, int, list[str]]] = {
    "unknown dtype in a column": ("[f32, f8e4m3]}", "[f32, f99]}", 16, ["unknown dtype 'f99'", "bf16"]),
    "unknown dtype of a parameter": ("scalar size_t", "scalar uint", 11, ["'numel'", "'uint'", "size_t"]),
    "unknown placeholder in a name": ('"t{op}_{dtype}"', '"t{op}_{type}"', 7, ["{type}", "op, dtype"]),
    "unknown placeholder in a parameter": ("inp: in {dtype}*", "inp: in {dtyp}*", 12, ["{dtyp}", "dtype"]),
    "parameter placeholder with no value": ("inp: in {dtype}*", "inp: in {op_type}*", 12, ["{op_type}"]),
    "variant placeholder with no value": ('"{dtype}"}', '"{idx_dtype}"}', 9, ["{idx_dtype}"]),
    "a name that is not unique": ('"t{op}_{dtype}"', '"t_{dtype}"', 19, ["'t_f32'", "already defined", ":18"]),
    "a name that is not a C name": ('"t{op}_{dtype}"', '"t{op}-{dtype}"', 7, ["'texp-f32'", "C name"]),
    "a dtype claimed twice": ("[f32, f8e4m3]}", "[f32, f32]}", 16, ["dtype 'f32'", "twice"]),
    "a key given twice": ("log: [3, ~]", "exp: [3, ~]", 19, ["'exp'", "twice", "line 18"]),
    "rows and columns on one axis": ("rows: op", "rows: dtype", 15, ["rows and columns", "two axes"]),
    "an axis that is variant and table": ("{src_dtype:", "{dtype:", 9, ["'dtype'", "variant"]),
    "a row of the wrong length": ("log: [3, ~]", "log: [3]", 19, ["1 entries for 2 columns", "~"]),
    "a missing field": (
        "    params:\n      numel: scalar size_t\n      inp: in {dtype}*\n      out: out {dtype}*\n", "", 6,
        ["'params' is missing", "inout TYPE*"]),
    "a missing field of the file": ("title: A toy\n", "", 1, ["'title' is missing"]),
    "a moved parameter that is none": (
        "    table:", "    moved: [input]\n    table:", 14, ["'input'", "numel, inp, out"]),
    "an unknown field": ("title: A toy", "titel: A toy", 2, ["unknown key 'titel'", "title"]),
    "an unknown field of a stanza": ("spelling: {", "spellings: {", 8, ["unknown key 'spellings'", "spelling"]),
    "an unknown field of a rule": ("        ulp: 0", "        ulps: 0", 22, ["unknown key 'ulps'", "library_ulp"]),
    "an unknown axis": ("when: {op: [exp]}", "when: {opp: [exp]}", 21, ["opp"]),
    "a text for a number": ("source_lines: 9", "source_lines: many", 4, ["'many'", "number of lines"]),
    "a number for a text": ("title: A toy", "title: 7", 2, ["7", "what the module's kernels do"]),
    "a negative line": ("exp: [1, 2]", "exp: [-1, 2]", 18, ["-1", "upstream lines"]),
    "a text for a line": ("exp: [1, 2]", "exp: [one, 2]", 18, ["'one'", "upstream lines"]),
    "a list for a mapping": ("spelling: {f8e4m3: f8_e4m3}", "spelling: [f8e4m3]", 8, ["a list", "mapping"]),
    "an empty value": ("title: A toy", "title:", 2, ["empty"]),
    "a fraction": ("ulp: 1,", "ulp: 1.5,", 25, ["1.5", "integer"]),
    "a bound that hides a wrong kernel": ("ulp: 1,", "ulp: 17,", 25, ["17", "integer from 0 to 16"]),
    "a bound per dtype that hides one": ("{f32: 2,", "{f32: 1000000,", 23, ["1000000", "integer from 0 to 16"]),
    "a negative bound": ("ulp: 1,", "ulp: -1,", 25, ["-1", "integer from 0 to 16"]),
    "a bound without the dtype": ("{f32: 2, f8e4m3: 1}", "{f32: 2}", 23, ["no value for dtype 'f8e4m3'"]),
    "a bound for an unknown dtype": ("{f32: 2, f8e4m3: 1}", "{f32: 2, f8e4m3: 1, f9: 1}", 23, ["unknown dtype 'f9'"]),
    "two rules of tolerance": ("{op: [log]}", "{op: [exp], dtype: [f8e4m3]}", 25, ["2 rules", "texp_f8_e4m3"]),
    "a rule that selects nothing": ("when: {op: [exp]}", "when: {op: [sin]}", 21, ["op 'sin'", "exp, log"]),
    "a spelling of nothing": ("{f8e4m3: f8_e4m3}", "{f16: half}", 8, ["'f16'", "spelling"]),
    "a parameter without a role": ("inp: in {dtype}*", 'inp: "{dtype}*"', 12, ["'inp'", "scalar TYPE"]),
    "a scalar pointer": ("scalar size_t", "scalar size_t*", 11, ["'numel'", "scalar has no *"]),
    "a buffer that is not a pointer": ("inp: in {dtype}*", "inp: in {dtype}", 12, ["'inp'", "need one"]),
    "a wrong module name": ("module: toy", "module: tory", 1, ["'tory'", "'toy'"]),
    "YAML that does not parse": ("lines:\n", "lines: [\n", 19, ["not valid YAML", "line 17"]),
    "neither row nor table": (
        "    table:\n      rows: op\n      columns: {dtype: [f32, f8e4m3]}\n      lines:\n"
        "        exp: [1, 2]\n        log: [3, ~]\n", "", 6, ["either row or table"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_spec_is_one_clear_line(tmp_path: Path, kind: str) -> None:
    old, new, line, parts = WRONG[kind]
    assert GOOD.count(old) == 1
    path = write(tmp_path, GOOD.replace(old, new))
    error = failure(tmp_path)
    assert str(error).startswith(f"{path}:{line}: "), str(error)
    for part in parts:
        assert part in str(error), str(error)


def test_a_kernel_without_a_rule(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("      - {when: {op: [log]}, ulp: 1, library_ulp: 0, source: a book}\n", ""))
    error = failure(tmp_path)
    assert error.line == 20
    assert "no rule of tolerance for kernel 'tlog_f32'" in str(error)


def test_a_kernel_in_two_files_names_both(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    other = write(tmp_path, GOOD.replace("module: toy", "module: zoo"), "zoo.yaml")
    error = failure(tmp_path)
    assert str(error).startswith(f"{other}:18: ")
    assert f"{tmp_path / 'toy.yaml'}:18" in str(error)


def test_an_empty_file(tmp_path: Path) -> None:
    path = write(tmp_path, "# nothing\n")
    assert str(failure(tmp_path)).startswith(f"{path}:1: the file is empty")


def test_a_file_that_is_a_list(tmp_path: Path) -> None:
    path = write(tmp_path, "- toy\n")
    assert str(failure(tmp_path)).startswith(f"{path}:1: the file is a list; expected a mapping")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert str(path) in str(failure(tmp_path))
    assert "UTF-8" in str(failure(tmp_path))


def test_control_characters_are_an_error_of_yaml(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("A toy", "A \x07 toy"))
    assert "not valid YAML" in str(failure(tmp_path))


def test_a_folder_without_specs(tmp_path: Path) -> None:
    assert str(failure(tmp_path)).startswith(f"{tmp_path}: no spec found")
    assert str(failure(tmp_path / "absent")).startswith(f"{tmp_path / 'absent'}: no spec found")


def test_a_kernel_has_one_fix_at_most(tmp_path: Path) -> None:
    """The right result is that of one defect; the other kernel of the stanza may have another."""
    exp = "      - {text: rounds twice, when: {op: [exp]}, fix: one-rounding}\n"
    write(tmp_path, f"{GOOD}    upstream_defects:\n{exp}      - {{text: overflows, when: {{op: [log]}}, fix: range}}\n")
    kernels = load_specs(tmp_path).kernels
    assert [kernel.fix and kernel.fix.name for kernel in kernels.values()] == ["one-rounding", "one-rounding", "range"]
    assert kernels["tlog_f32"].fixed().variant["fixed"] == "range"
    write(tmp_path, f"{GOOD}    upstream_defects:\n{exp}      - {{text: overflows, fix: range}}\n")
    error = failure(tmp_path)
    assert (error.line, "a second fix of one kernel" in str(error)) == (28, True)
