"""The sandbox of the cpu runtime, in processes that are confined and then run kernels that misbehave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.toolchains.host import NoCompiler, find_toolchain
from tests.cpu_sandbox.confined import Ended, Executor, ForkServer


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """The process that is copied, on any machine that has a compiler."""
    try:
        find_toolchain(links_standard_library=True)
    except NoCompiler as error:
        pytest.skip(str(error))
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def guards(fork_server: ForkServer) -> str:
    """What guards a confined process on this machine; skips where nothing does."""
    ended = fork_server.run_before(_confine)
    if ended.answer is None and "NoSandbox" in ended.stderr:
        pytest.skip(ended.stderr.splitlines()[-1])
    assert isinstance(ended, Ended)
    assert ended.answer is not None, ended.stderr
    return str(ended.answer)


@pytest.fixture(scope="session")
def server(fork_server: ForkServer, guards: str) -> ForkServer:
    """The process that is copied, on a machine that can confine."""
    return fork_server


def _confine(executor: Executor) -> str:
    return executor.confine()
