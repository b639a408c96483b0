"""The examples in the docstrings where a reader enters are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

ENTRANCES = (
    "conformance.spec.expand",
    "conformance.verdict",
    "conformance.verdict.blame",
    "conformance.engine",
    "conformance.record",
    "conformance.port",
    "conformance.processes",
    "conformance.replay",
    "conformance.report",
    "conformance.runtimes",
    "conformance.session",
    "conformance.toolchains",
)


@pytest.mark.parametrize("name", ENTRANCES)
def test_an_example_gives_what_it_shows(name: str) -> None:
    module = import_module(name)
    found = doctest.testmod(module)
    assert found.attempted > 0, "there is an example"
    assert found.failed == 0
