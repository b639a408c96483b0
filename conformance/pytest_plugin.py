"""The pytest plugin: ``--parity-*`` in every repository where candle-parity is installed.

An installed plugin is a part of everybody's pytest runs, so that this file imports next to nothing. Only a run that
may judge kernels loads ``conformance.pytest_items``: one with a ``--parity-*`` option, any in our own checkout, and any
where a port is declared in the working directory or in pytest's root folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli.usage import percentage
from conformance.files import checkout
from conformance.runtimes import AUTO, NAMES

RUNTIMES = (AUTO, *NAMES)
COMPILERS = ("auto", "hiprtc", "hipcc")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("candle-parity")
    group.addoption(
        "--parity-kernels",
        type=Path,
        metavar="PATH",
        help="put PATH, a folder or file of .hip, .cu or .hsaco, on trial: an item per kernel or launcher",
    )
    group.addoption(
        "--parity-config", type=Path, metavar="FILE", help="what the port says of itself (default: candle-parity.toml)"
    )
    group.addoption(
        "--parity-fail-under", type=percentage, metavar="PCT", help="exit 0 when the coverage reaches this, else 1"
    )
    group.addoption(
        "--parity-fail-under-launchers",
        type=percentage,
        metavar="PCT",
        help="the same for the linked launchers, which are counted apart from the kernels",
    )
    group.addoption(
        "--parity-baseline",
        type=Path,
        metavar="RECORD",
        help="exit 1 when a kernel or case is worse than in this record",
    )
    group.addoption(
        "--parity-strict", action="store_true", default=None, help="with a gate: a failure is exit 1 all the same"
    )
    group.addoption("--parity-runtime", choices=RUNTIMES, help="what runs the kernels (default: auto)")
    group.addoption("--parity-wave", type=int, choices=(32, 64), help="wave size of the cpu runtime")
    group.addoption("--parity-json", type=Path, metavar="F", help="write the record")
    group.addoption("--parity-compiler", choices=COMPILERS, help="rocm runtime: what compiles (default: auto)")
    group.addoption("--parity-compile-timeout", type=float, metavar="S", help="seconds for a file (300)")
    group.addoption("--parity-no-sandbox", action="store_true", help="cpu runtime: do not confine what runs kernels")


def pytest_configure(config: pytest.Config) -> None:
    asked = any(value for name, value in vars(config.option).items() if name.startswith("parity_"))
    gates = (config.option.parity_fail_under, config.option.parity_fail_under_launchers)  # 0 is a gate too
    asked = asked or any(gate is not None for gate in gates) or config.rootpath.resolve() == checkout()
    if asked or _declared(config):
        from conformance.pytest_items import Parity

        config.pluginmanager.register(Parity(config), "candle-parity-items")


def _declared(config: pytest.Config) -> bool:
    """Whether a file there names a port's kernels; raises ``pytest.UsageError`` for one that cannot be used."""
    folders = (config.invocation_params.dir, config.rootpath)
    if not any(_names_us(folder) for folder in folders):
        return False
    from conformance.port.config import config_in
    from conformance.port.sources import SourceError

    try:
        config_here = config_in(folders)
    except SourceError as error:
        raise pytest.UsageError(str(error)) from None
    return config_here is not None and config_here.kernels is not None


def _names_us(folder: Path) -> bool:
    """Whether to read the configuration."""
    if (folder / "candle-parity.toml").exists():
        return True
    try:
        return b"candle-parity" in (folder / "pyproject.toml").read_bytes()
    except OSError:
        return False
