"""The isa runtime, built once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.runtimes.cpu.build import build
from conformance.runtimes.isa.build import isa_plan
from conformance.toolchains.host import NoCompiler
from tests.isa_runtime.machine import Machine


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    try:
        folder = build(isa_plan())
    except NoCompiler as error:
        pytest.skip(str(error))
    found = Machine(folder)
    yield found
    found.close()
