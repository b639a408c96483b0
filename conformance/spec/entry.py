"""What Candle's Rust side calls, kernels, launchers and library calls, and a port's own kernels and launchers. A row
for each says in what they differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Entry = Literal["kernel", "launcher", "library", "own", "own_launcher"]
"""As specs, traces and exports spell it:

- ``kernel``: a ``__global__`` function, which Candle's Rust loads from a code object by its name and launches;
- ``launcher``: a host function of a source next to the kernels, with which Candle's Rust is linked and which launches
  kernels itself;
- ``library``: a call of the vendor's library, such as hipBLAS, which no source of a port defines;
- ``own``: a ``__global__`` function that a port has and Candle has not; its spec is in the port's repository;
- ``own_launcher``: a launcher that a port has and Candle has not, likewise.
"""

ENTRIES: tuple[Entry, ...] = get_args(Entry)
"""In the order of records and reports."""

Build = Literal["kernels", "launchers"]
"""What a source of a port is compiled to:

- ``kernels``: a code object, or on the host its stand-in, with the ``__global__`` functions of the source;
- ``launchers``: a shared library with its host functions, and the kernels that these launch.
"""

BUILDS: tuple[Build, ...] = get_args(Build)


@dataclass(frozen=True)
class EntryRow:
    """What follows from what kind of entry something is; each kind is counted apart."""

    noun: str
    """What sentences and tables call one of them."""

    part: Literal["kernels", "launchers", "libraries", "own", "own_launchers"]
    """The field of ``Specs`` and of a record that has these entries."""

    modules: Literal["modules", "launcher_modules", "library_modules", "own_modules", "own_launcher_modules"]
    """The field of ``Specs`` with their modules."""

    is_host_function: bool
    """It is called, not launched: it gets a stream, and chooses grid, block and shared memory itself."""

    build: Build | None
    """What a source of the port is compiled to for it; ``None``: no source of a port defines it."""

    tried_if_excluded: bool
    """One that the port excludes is looked for all the same, and what the port does have is judged."""

    must_be_there: bool
    """One that was selected along with others and that nothing defines is a failure."""

    may_be_not_run: bool
    """One that the runtime cannot call is no failure."""

    in_coverage: bool
    """The percentage of a run is of these. Reports name others, and only where some were selected."""

    in_specs: bool
    """The harness's specs have them. Of others, which only a port's specs have, a report knows what the record says."""

    in_baseline: bool
    """Comparisons of two records look at it."""

    tried_otherwise: bool
    """A failing case of it is launched in other ways too, to tell why it fails. A call of a library is no launch, and
    what is asked of random numbers is not what is in the buffers."""

    @property
    def plural(self) -> str:
        """What they are called: ``kernels``, ``launchers``, ``library calls``, ``own kernels``, ``own
        launchers``."""
        return f"{self.noun}s"


ROWS: Mapping[Entry, EntryRow] = {
    "kernel": EntryRow(
        noun="kernel",
        part="kernels",
        modules="modules",
        is_host_function=False,
        build="kernels",
        tried_if_excluded=True,
        must_be_there=True,
        may_be_not_run=False,
        in_coverage=True,
        in_specs=True,
        in_baseline=True,
        tried_otherwise=True,
    ),
    "launcher": EntryRow(
        noun="launcher",
        part="launchers",
        modules="launcher_modules",
        is_host_function=True,
        build="launchers",
        tried_if_excluded=False,
        must_be_there=False,
        may_be_not_run=True,
        in_coverage=False,
        in_specs=True,
        in_baseline=True,
        tried_otherwise=True,
    ),
    "library": EntryRow(
        noun="library call",
        part="libraries",
        modules="library_modules",
        is_host_function=True,
        build=None,
        tried_if_excluded=False,
        must_be_there=True,
        may_be_not_run=True,
        in_coverage=False,
        in_specs=True,
        in_baseline=False,
        tried_otherwise=False,
    ),
    "own": EntryRow(
        noun="own kernel",
        part="own",
        modules="own_modules",
        is_host_function=False,
        build="kernels",
        tried_if_excluded=True,
        must_be_there=True,
        may_be_not_run=False,
        in_coverage=False,
        in_specs=False,
        in_baseline=True,
        tried_otherwise=True,
    ),
    "own_launcher": EntryRow(
        noun="own launcher",
        part="own_launchers",
        modules="own_launcher_modules",
        is_host_function=True,
        build="launchers",
        tried_if_excluded=False,
        must_be_there=True,
        may_be_not_run=False,
        in_coverage=False,
        in_specs=False,
        in_baseline=True,
        tried_otherwise=True,
    ),
}

OWN: tuple[Entry, ...] = tuple(entry for entry, row in ROWS.items() if not row.in_specs)
"""What only a port's specs have: own kernels and own launchers."""

BESIDES: tuple[Entry, ...] = tuple(entry for entry, row in ROWS.items() if not row.in_coverage)
"""What is counted beside the kernels."""
