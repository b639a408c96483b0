"""Every known class of port bug has a case that exists for it, or a reason why no case can show it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLASSES = ROOT / "specs" / "bug-classes.md"
SOURCES = [path for path in (ROOT / "conformance" / "cases").rglob("*") if path.suffix in (".py", ".yaml")]

# What no case shows, and what does instead.
ELSEWHERE = {
    "C13": "a call into a library, not a kernel",
    "I08": "no kernel of Candle's takes a float maximum or minimum atomically",
    "L01": "the harness launches, not the port",
    "L12": "needs more than 2^32 elements",
    "L14": "the compile cache: tests/cli/test_commands.py",
    "L15": "a code object for another target is a compile_error: tests/cli/test_bad_input.py",
    "L16": "the symbol is missing: tests/cli/test_bad_input.py",
    "L17": "the symbol is missing: tests/cli/test_bad_input.py; check names the likeliest one: tests/port",
    "L18": "the kernel is missing: every kernel of the specs is a row of the report",
    "L19": "the kernel is missing: every kernel of the specs is a row of the report",
    "L20": "a compile_error: tests/cli/test_bad_input.py",
    "Q07": "a compile_error, or wrong values in every case of the family",
    "R14": "every case of a sum shows it in shuffled thread orders: tests/cpu_runtime/test_runtime_blocks.py",
    "W02": "a compile_error: the headers take 64-bit masks only, tests/cpu_hiprtc/test_api.py",
    "W08": "needs a GPU's memory model",
}


def test_every_class_has_a_case_or_a_reason() -> None:
    known = set(re.findall(r"^\| ([A-Z]\d{2}) ", CLASSES.read_text(), re.MULTILINE))
    text = "\n".join(path.read_text() for path in SOURCES)
    named = {name for name in known if re.search(rf"\b{name}\b", text)}
    assert len(known) > 80
    assert known - named - ELSEWHERE.keys() == set()
    assert ELSEWHERE.keys() <= known - named


def test_cases_name_only_classes_that_are_explained() -> None:
    known = set(re.findall(r"^\| ([A-Z]\d{2}) ", CLASSES.read_text(), re.MULTILINE))
    families = {name[0] for name in known}
    comments = "\n".join(comment for path in SOURCES for comment in re.findall(r"#(.*)", path.read_text()))
    named = {name for name in re.findall(r"\b[A-Z]\d{2}\b", comments) if name[0] in families}
    assert named - known == set()
