"""``candle-parity`` for shell steps, without its start: one process imports everything and forks one for each command.

A step of a CI file starts the program several times, and half of its time would be imports. The program on ``PATH`` is
a client: it hands over its arguments, folder, environment and standard streams, and ends with the command's exit code.
"""

from __future__ import annotations

import array
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

CLIENT = """#!{python} -IS
import array, json, os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect({address!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
link.sendmsg([len(asked).to_bytes(8, "big")], streams)
link.sendall(asked)
sys.exit(int(link.makefile().read() or 99))
"""


@contextmanager
def program(folder: Path) -> Iterator[Path]:
    """A folder for ``PATH`` with ``candle-parity`` in it, served while the block runs."""
    listening = socket.socket(socket.AF_UNIX)
    address = str(folder / "socket")
    listening.bind(address)
    listening.listen()
    file = folder / "programs" / "candle-parity"
    file.parent.mkdir()
    file.write_text(CLIENT.format(python=sys.executable, address=address))
    file.chmod(0o755)
    server = get_context("fork").Process(target=_serve, args=(listening,))
    server.start()
    try:
        yield file.parent
    finally:
        server.kill()
        server.join()
        listening.close()


def _serve(listening: socket.socket) -> None:
    from conformance.cli.commands import board, check, ports, report, run  # noqa: F401

    while True:
        link, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _answer(link)
        link.close()
        os.waitpid(-1, 0)  # steps start one command after the other


def _answer(link: socket.socket) -> None:
    """Become the command that ``link`` asks for; does not return."""
    code = 99
    try:
        streams = array.array("i")
        size, (sent, *_), *_ = link.recvmsg(8, socket.CMSG_SPACE(3 * streams.itemsize))
        streams.frombytes(sent[2])
        words, folder, variables = json.loads(link.makefile("rb").read(int.from_bytes(size, "big")))
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        from conformance.cli.main import main

        try:
            code = main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        link.sendall(str(code).encode())
        os._exit(0)
