"""What Candle's Rust side calls, kernels, launchers and library calls, and a port's own kernels. A row for each says in
what they differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Entry = Literal["kernel", "launcher", "library", "own"]
"""As specs, traces and exports spell it:

- ``kernel``: a ``__global__`` function, which Candle's Rust loads from a code object by its name and launches;
- ``launcher``: a host function of a source next to the kernels, with which Candle's Rust is linked and which launches
  kernels itself;
- ``library``: a call of the vendor's library, such as hipBLAS, which no source of a port defines;
- ``own``: a ``__global__`` function that a port has and Candle has not; its spec is in the port's repository.
"""

ENTRIES: tuple[Entry, ...] = get_args(Entry)
"""In the order of records and reports."""


@dataclass(frozen=True)
class EntryRow:
    """What follows from what kind of entry something is.

    ``noun`` is what sentences and tables call one of them. ``part`` is the field of ``Specs`` and of a record
    that has these entries, and ``modules`` the field of ``Specs`` with their modules: each kind is counted apart, and
    only kernels are the coverage.

    ``is_host_function`` says that it is called, not launched: it gets a stream and chooses grid, block and shared
    memory itself, and is compiled as host code. ``of_port`` says that a source of the port defines it: it can be
    missing there, and a run of everything leaves it out where no source names one. ``must_be_there`` says that one
    which was selected along with others and that nothing defines is a failure. ``in_baseline`` says that comparisons
    of two records look at it.
    """

    noun: str
    part: Literal["kernels", "launchers", "libraries", "own"]
    modules: Literal["modules", "launcher_modules", "library_modules", "own_modules"]
    is_host_function: bool
    of_port: bool
    must_be_there: bool
    in_baseline: bool

    @property
    def plural(self) -> str:
        """What they are called: ``kernels``, ``launchers``, ``library calls``, ``own kernels``."""
        return f"{self.noun}s"


ROWS: Mapping[Entry, EntryRow] = {
    "kernel": EntryRow(
        noun="kernel",
        part="kernels",
        modules="modules",
        is_host_function=False,
        of_port=True,
        must_be_there=True,
        in_baseline=True,
    ),
    "launcher": EntryRow(
        noun="launcher",
        part="launchers",
        modules="launcher_modules",
        is_host_function=True,
        of_port=True,
        must_be_there=False,
        in_baseline=True,
    ),
    "library": EntryRow(
        noun="library call",
        part="libraries",
        modules="library_modules",
        is_host_function=True,
        of_port=False,
        must_be_there=True,
        in_baseline=False,
    ),
    "own": EntryRow(
        noun="own kernel",
        part="own",
        modules="own_modules",
        is_host_function=False,
        of_port=True,
        must_be_there=True,
        in_baseline=True,
    ),
}
