"""The tables of ``--sites``: by module, by reason and by place."""

from __future__ import annotations

from conformance.outcome import KernelResult, MissedSites, Sites
from conformance.report.sites import sites_lines


def kernel(name: str, *places: MissedSites) -> KernelResult:
    missed = sum(place.sites for place in places)
    sites = Sites(200, 200 - missed, ("0x10-0x20",), places)
    return KernelResult(
        name=name, module="unary", family="unary", status="pass", cases=1, upstream="unary.cu:1", sites=sites
    )


def test_what_is_explained_is_told_from_what_is_not() -> None:
    reason, none = MissedSites("divide < map", "k/a.h:3", 20, "wide"), MissedSites("map", "k/a.h:7-8", 4)
    lines = sites_lines([kernel("a", reason, none), kernel("b", MissedSites("map", "k/a.h:9", 6))])
    table = [line.split() for line in lines]
    assert ["all", "2", "400", "370", "92.5", "20", "5.0", "10", "2.5"] in table
    assert ["20", "1", "wide"] in table
    assert ["10", "2", "map", "k/a.h:7-9"] in table
    assert not any("divide" in line for line in lines)


def test_places_beyond_the_first_are_counted_and_listed_on_request() -> None:
    row = kernel("a", *(MissedSites(f"f{n}", f"k/a.h:{n}", 1) for n in range(1, 13)))
    assert "and 2 sites in 2 places more; -v lists them" in sites_lines([row])
    assert sum("k/a.h:" in line for line in sites_lines([row], every=True)) == 12
