"""From source files to the kernels they define."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance.sources.definitions import Definition, find_definitions
from conformance.sources.errors import ScanError
from conformance.sources.preprocess import preprocess
from conformance.sources.tokens import tokenize


def defined_kernels(
    path: Path, include_dirs: Sequence[Path] = (), defines: Sequence[str] = (), forced: Sequence[Path] = ()
) -> list[Definition]:
    """Every ``__global__`` function that the source ``path`` defines, headers included, in the order of definition.

    ``defines`` are ``NAME`` or ``NAME=VALUE``: ``CUDA_DEFINES`` or ``HIP_DEFINES`` and what the user gives. ``forced``
    are headers included before the first line. A name that the source defines twice comes twice. Raises ``ScanError``
    for a file that cannot be read, preprocessed or parsed, naming file and line.
    """
    source = preprocess(path, include_dirs, defines, forced)
    return find_definitions(tokenize(source.text, str(path), source.counts_raw), path)


def scan(
    paths: Sequence[Path],
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    jobs: int = 2,
) -> dict[Path, list[Definition] | ScanError]:
    """``defined_kernels`` of each of ``paths``, ``jobs`` at a time; a file's error stands in its place."""

    def one(path: Path) -> list[Definition] | ScanError:
        try:
            return defined_kernels(path, include_dirs, defines, forced)
        except ScanError as error:
            return error

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        return dict(zip(paths, pool.map(one, paths), strict=True))
