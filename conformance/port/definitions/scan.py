"""From source files to the kernels they define."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from conformance.port.definitions.errors import ScanError
from conformance.port.definitions.kernels import Definition, Found, find
from conformance.port.definitions.preprocess import preprocess
from conformance.port.definitions.tokens import tokenize

Item = TypeVar("Item")
Result = TypeVar("Result")


def scan_file(
    path: Path,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    undefines: Sequence[str] = (),
    std: str | None = None,
) -> Found:
    """What the source ``path`` defines at namespace level, headers included, in the order of definition.

    ``defines`` are ``NAME`` or ``NAME=VALUE``: ``CUDA_DEFINES`` or ``HIP_DEFINES`` and what the user gives, of which
    ``undefines`` are taken back. ``forced`` are headers included before the first line, ``std`` the standard of C++. A
    name that the source defines twice comes twice. Raises ``ScanError`` for a file that cannot be read, preprocessed
    or parsed, naming file and line.
    """
    source = preprocess(path, include_dirs, defines, forced, undefines, std)
    return find(tokenize(source.text, str(path), source.counts_raw), path)


def defined_kernels(
    path: Path,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    undefines: Sequence[str] = (),
    std: str | None = None,
) -> list[Definition]:
    """The kernels of ``scan_file``, asked for alike; raises ``ScanError``."""
    return scan_file(path, include_dirs, defines, forced, undefines, std).kernels


def scan(
    paths: Sequence[Path],
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    jobs: int = 2,
) -> dict[Path, list[Definition] | ScanError]:
    """``defined_kernels`` of each of ``paths``, ``jobs`` at a time; a file's error takes the place of its result."""

    def one(path: Path) -> list[Definition] | ScanError:
        try:
            return defined_kernels(path, include_dirs, defines, forced)
        except ScanError as error:
            return error

    return dict(zip(paths, in_parallel(one, paths, jobs), strict=True))


def in_parallel(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> list[Result]:
    """``work`` of each of ``items``, ``jobs`` at a time; what waits is given up when one raises or the process is
    stopped."""
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
