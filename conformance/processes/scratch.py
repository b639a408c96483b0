"""Where temporary files can be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from conformance.processes.errors import InfrastructureError

COMMON = Path("/tmp")
_PROBE = bytes(64 << 10)


def scratch_base() -> Path:
    """The first folder that takes files: ``$TMPDIR`` where it is set, ``/tmp``, the cache folder.

    Raises ``InfrastructureError`` when none does.
    """
    refused = []
    for folder, name in _candidates():
        try:
            _probe(folder)
        except OSError as error:
            refused.append(f"{name}: {error.strerror}")
        else:
            return folder
    raise InfrastructureError(
        f"no folder for temporary files can be written ({'; '.join(refused)}); make room in one, or set TMPDIR to a "
        "folder that can be written"
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    from conformance.build.cache import cache_folder

    chosen = os.environ.get("TMPDIR")
    if chosen:
        yield Path(chosen).absolute(), f"TMPDIR={chosen}"
        yield cache_folder().absolute(), f"the cache folder {cache_folder()}"
    yield COMMON, str(COMMON)
    if not chosen:
        yield cache_folder().absolute(), f"the cache folder {cache_folder()}"


def _probe(folder: Path) -> None:
    """Raises ``OSError`` unless a file of some size can be written in ``folder``."""
    probe = folder / f".candle-parity-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with open(probe, "xb", buffering=0) as file:
            file.write(_PROBE)
    finally:
        probe.unlink(missing_ok=True)
