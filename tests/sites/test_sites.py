"""Where the instructions are that no case executes, and which row of reasons.yaml says why."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from conformance.port.line_tables import LineTable, _Body
from tests.sites.__main__ import KERNELS, REASONS, Missed, Reason, Site, missed

WIDE = Reason("wide", "large", "nowhere", ("half",), "half.h")


@pytest.fixture
def header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "half.h").write_text("inline int half(int i) {\n  return wide ? i / 2l : i / 2;\n}\n")
    monkeypatch.setattr("tests.sites.__main__.KERNELS", tmp_path)
    return f"{tmp_path}/half.h"


def table(header: str) -> LineTable:
    """half<long> is inlined into k from 0x10 to 0x20, the code around it is the kernel's own."""
    kernel = (header.replace("half.h", "k.hip"), 1)
    bodies = [_Body(0, 0x30, "k", None), _Body(0x10, 0x20, "half<long>", kernel)]
    return LineTable([0, 0x10, 0x18, 0x20], [kernel, (header, 2), (header, 1), kernel], bodies)


def reason(header: str, row: Reason, offset: int = 0x10) -> str | None:
    (found,) = missed([Site(offset, False)], table(header), [row])
    return found.reason


def test_what_was_not_executed_has_its_function_and_line(header: str) -> None:
    sites = [Site(0x4, False), Site(0x8, True), Site(0x10, False)]
    assert list(missed(sites, table(header), [])) == [
        Missed(0x4, "k", "k.hip:1", None),
        Missed(0x10, "half", "half.h:2", None),
    ]


def test_a_reason_is_given_for_a_function_a_line_a_kernel(header: str) -> None:
    assert reason(header, WIDE) == "wide"
    assert reason(header, WIDE, 0x4) is None
    assert reason(header, Reason("line", "", "", ("half",), "half.h", "i / 2l")) == "line"
    assert reason(header, Reason("line", "", "", ("half",), "half.h", "i / 2l"), 0x18) is None
    assert reason(header, Reason("lines", "", "", ("half",), "half.h", ["inline int", "i / 2l"]), 0x18) == "lines"
    assert reason(header, Reason("kernel", "", "", ("half",), "half.h", kernels=("k*",))) == "kernel"
    assert reason(header, Reason("kernel", "", "", ("half",), "half.h", kernels=("other*",))) is None


def test_what_has_no_line_has_the_reason_of_the_neighbours_that_have_one(header: str) -> None:
    spots = [(header, 0), (header, 2), (header, 0), (header, 1), (header, 0)]
    lines = LineTable([0, 4, 8, 12, 16], spots, [_Body(0, 0x30, "half", None)])
    row = Reason("line", "", "", ("half",), "half.h", "i / 2l")

    def explained(*sites: Site) -> int:
        return sum(one.reason is not None for one in missed(sites, lines, [row]))

    assert explained(Site(0, False), Site(4, False), Site(8, False)) == 3
    assert explained(Site(0, False), Site(2, True), Site(4, False), Site(6, True), Site(8, False)) == 1
    assert explained(Site(12, False), Site(16, False)) == 0
    assert explained(Site(4, False), Site(8, False), Site(12, False), Site(16, False)) == 2  # the nearest before


def test_the_rows_name_what_the_kernels_have() -> None:
    rows = [Reason(**row) for row in yaml.safe_load(REASONS.read_text())]
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        text = (KERNELS / row.file).read_text()
        parts = [row.text] if isinstance(row.text, str) else row.text
        assert all(f"{name}(" in text for name in row.functions), row.name
        assert all(part in text for part in parts), row.name
