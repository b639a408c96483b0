"""The sandbox of the cpu runtime, in processes that are confined and then run kernels that misbehave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.runtimes.cpu.toolchain import NoCompiler, find_toolchain
from tests.sandbox.confined import Ended, Executor, Nursery


@pytest.fixture(scope="session")
def bare_nursery() -> Iterator[Nursery]:
    """The process that is copied, on any machine that has a compiler."""
    try:
        find_toolchain(links_standard_library=True)
    except NoCompiler as error:
        pytest.skip(str(error))
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def guards(bare_nursery: Nursery) -> str:
    """What guards a confined process on this machine; skips where nothing does."""
    ended = bare_nursery.run_before(_confine)
    if ended.answer is None and "NoSandbox" in ended.stderr:
        pytest.skip(ended.stderr.splitlines()[-1])
    assert isinstance(ended, Ended)
    assert ended.answer is not None, ended.stderr
    return str(ended.answer)


@pytest.fixture(scope="session")
def nursery(bare_nursery: Nursery, guards: str) -> Nursery:
    """The process that is copied, on a machine that can confine."""
    return bare_nursery


def _confine(executor: Executor) -> str:
    return executor.confine()
