"""Why no case executes some of a port's code: the rows of sites.yaml, and what is refused of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.site_places import placed
from conformance.outcome import MissedSites, Sites, line_runs
from conformance.port.line_tables import LineTable, _Body
from conformance.port.site_reasons import read_site_reasons, unused
from conformance.port.sources import KernelSource
from conformance.spec import SpecError

HEADER = "inline int half(int i) {\n  return wide ? i / 2l : i / 2;\n}\n"
ROW = "name: wide, why: large, tested: nowhere, functions: [half], file: half.h"


@pytest.fixture
def port(tmp_path: Path) -> Path:
    (tmp_path / "half.h").write_text(HEADER)
    (tmp_path / "k.hip").write_text("extern void k();\n")
    return tmp_path


def rows(port: Path, *texts: str) -> Path:
    (port / "sites.yaml").write_text("\n".join(f"- {{{text}}}" for text in texts))
    return port


def table(port: Path) -> LineTable:
    """half<long> is inlined into k from 0x10 to 0x20, the code before that is the kernel's own."""
    header = f"{port}/half.h"
    places = [("k.hip", 1), (header, 2), (header, 1), ("k.hip", 1)]
    bodies = [_Body(0, 0x30, "k", None), _Body(0x10, 0x20, "half<long>", ("k.hip", 1))]
    return LineTable([0, 0x10, 0x18, 0x20], places, bodies)


def places(port: Path, *missed: int) -> dict[str, MissedSites]:
    source = KernelSource(port / "k.hip", port)
    found = placed(Sites(12, 12 - len(missed)), missed, table(port), source, read_site_reasons(port))
    assert found.explained == sum(place.sites for place in found.places if place.reason)
    return {place.functions: place for place in found.places}


def test_what_was_not_executed_has_its_function_and_lines(port: Path) -> None:
    found = places(port, 0x4, 0x10, 0x14, 0x18, 0x24)
    assert found["half"] == MissedSites("half", f"{port.name}/half.h:1-2", 3)
    assert found["k"] == MissedSites("k", f"{port.name}/k.hip:1", 2)


def test_a_reason_is_given_for_a_function_a_line_and_a_kernel(port: Path) -> None:
    assert places(rows(port, ROW), 0x10, 0x18)["half"].reason == "wide"
    found = places(rows(port, f"{ROW}, text: 'i / 2l'"), 0x10)
    assert found["half"].reason == "wide"
    assert places(port, 0x18)["half"].reason is None
    assert places(rows(port, f"{ROW}, kernels: ['other*']"), 0x10)["half"].reason is None
    assert places(rows(port, f"{ROW}, kernels: ['k*']"), 0x10)["half"].reason == "wide"


def test_a_row_has_one_text_or_several(port: Path) -> None:
    assert places(rows(port, f"{ROW}, text: ['inline int', 'i / 2l']"), 0x10)["half"].reason == "wide"
    assert places(rows(port, f"{ROW}, text: ['return wide', 'inline int']"), 0x10, 0x18)["half"].reason == "wide"
    assert places(rows(port, f"{ROW}, text: ['inline int']"), 0x10)["half"].reason is None


def test_what_has_no_line_has_the_reason_of_the_neighbours_that_have_one(port: Path) -> None:
    header = f"{port}/half.h"
    spots = [(header, 0), (header, 2), (header, 0), (header, 1), (header, 0)]
    lines = LineTable([0, 4, 8, 12, 16], spots, [_Body(0, 0x30, "half", None)])
    reasons = read_site_reasons(rows(port, f"{ROW}, text: 'i / 2l'"))
    source = KernelSource(port / "k.hip", port)

    def explained(missed: list[int], *runs: str) -> int:
        return placed(Sites(12, 7, runs), missed, lines, source, reasons).explained

    assert explained([0, 4, 8], "0x0-0x8") == 3
    assert explained([0, 4, 8], "0x0-0x0", "0x4-0x4", "0x8-0x8") == 1  # neighbours that were executed
    assert explained([12, 16], "0xc-0x10") == 0
    assert explained([4, 8, 12, 16], "0x4-0x10") == 2  # the nearest before


def test_a_row_that_explains_nothing_is_named(port: Path) -> None:
    reasons = read_site_reasons(rows(port, ROW, f"{ROW.replace('wide', 'other')}, targets: [gfx1100]"))
    (said,) = unused(reasons, port, "gfx942", set())
    assert said.startswith(f"{port.name}/sites.yaml:1: 'wide' explains nothing for gfx942")
    assert unused(reasons, port, "gfx1100", {"wide", "other"}) == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROW.replace("half]", "third]"), "sites.yaml:1: half.h has no function 'third'"),
        (ROW.replace("half.h", "third.h"), "sites.yaml:1: there is no 'third.h' in "),
        (f"{ROW}, text: i % 2", "sites.yaml:1: no line of half.h has 'i % 2'"),
        (f"{ROW}, text: [wide, i % 2]", "sites.yaml:1: no line of half.h has 'i % 2'"),
        (f"{ROW}, text: []", "sites.yaml:1: 'text' is not a list of names"),
        (ROW.replace("why: large, ", ""), "sites.yaml:1: lacks 'why'"),
        (f"{ROW}, lines: 3", "sites.yaml:1: unknown key 'lines'"),
        (ROW.replace("[half]", "half"), "sites.yaml:1: 'functions' is not a list of names"),
        (ROW.replace("large", "3"), "sites.yaml:1: 'why' is not text"),
    ],
)
def test_a_row_that_does_not_fit_the_port_is_refused(port: Path, row: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        read_site_reasons(rows(port, row))
    assert said in str(error.value)


def test_two_rows_of_a_name_are_refused(port: Path) -> None:
    with pytest.raises(SpecError, match="two rows are called 'wide'"):
        read_site_reasons(rows(port, ROW, ROW))


def test_lines_are_written_as_runs_and_read_back() -> None:
    assert line_runs([35, 31, 0, 33, 34, 31]) == "31,33-35"
    assert MissedSites("f", "a.h:31,33-35", 4).numbers == {31, 33, 34, 35}
    assert MissedSites("f", "a.h:1-99999999999,x,-3", 4).numbers == set()
    assert MissedSites("f", "", 4).numbers == set()
