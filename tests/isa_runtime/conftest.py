"""The isa runtime, built once."""

from __future__ import annotations

import re
import struct
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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "executes(*names): instructions that the test executes, as test_completeness counts"
    )


@pytest.fixture(autouse=True)
def _executes_what_it_says(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that claims instructions launches them: of those with a target, the ones that this target has."""
    claimed = {name for mark in request.node.iter_markers("executes") for name in mark.args}
    if not claimed:
        yield
        return
    machine: Machine = request.getfixturevalue("machine")
    machine.launched = []
    yield
    found = {line[3] for code in set(machine.launched) for line in machine.decoded(*text_of(code))}
    machine.launched = None
    target = getattr(request.node, "callspec", None) and request.node.callspec.params.get("target")
    if target is not None:
        claimed &= {name for _, _, name in machine.meanings(getattr(target, "name", target))}
    assert claimed <= found, f"the test launches no {', '.join(sorted(claimed - found))}"


def text_of(code: bytes) -> tuple[str, bytes]:
    """The target and the instructions of a code object of ``code.py``."""
    target = re.search(rb"amdgcn-amd-amdhsa--(gfx\w+)", code)
    assert target is not None
    (sections,) = struct.unpack_from("<Q", code, 40)
    offset, size = struct.unpack_from("<QQ", code, sections + 64 + 24)
    return target[1].decode(), code[offset : offset + size]
