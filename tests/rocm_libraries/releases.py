"""The releases of AMD's HIP that the tests run, as rows: Debian packages of other suites than the machine's own.

What moves: unstable ("sid") and experimental hold one version of a package at a time. When a version of these rows is
replaced, the tests take what the suite has of the same major release and say so; when the major release is gone (HIP 7
will move from experimental to sid, and replace the headers of HIP 6 there), they are skipped until the row is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.toolchains.fetched import packages_of

HEADERS = "libamdhip64-dev"


@dataclass(frozen=True)
class Release:
    """A release of HIP: ``packages`` with what they depend on, ``alone`` without, all in ``version``.

    The first of ``suites`` is the one that apt is to prefer.
    """

    name: str
    suites: tuple[str, ...]
    packages: tuple[str, ...]
    alone: tuple[str, ...]

    @property
    def version(self) -> str:
        """That of the headers which ``candle-parity toolchain`` brings: all of HIP's own packages have it."""
        return next(row.version for row in packages_of(self.name) if row.package == HEADERS)

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]


# The -dev package alone: with its dependencies it brings hipcc, a clang and the device libraries, which nothing here
# needs.
RELEASES = (
    Release(
        name="6.4",
        suites=("sid",),
        packages=("libamdhip64-6", "libhiprtc6"),
        alone=("libhiprtc-builtins6", HEADERS),
    ),
    Release(
        name="7.2",
        suites=("experimental", "sid"),
        packages=("libamdhip64-7", "libhiprtc7"),
        alone=("libhiprtc-builtins7", HEADERS),
    ),
)
