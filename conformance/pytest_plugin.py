"""The pytest plugin: ``--parity-*`` in every repository where candle-parity is installed.

An installed plugin is a part of everybody's pytest runs, so that this file imports next to nothing. Only a run that
may judge kernels loads ``conformance.pytest_items``: one with a ``--parity-*`` option, any in our own checkout, and any
where a port is declared in the working directory or in pytest's root folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.files import source_tree
from conformance.settings import OPTIONS, PREFIX


def pytest_addoption(parser: pytest.Parser) -> None:
    """Give pytest every option with ``pytest=True`` in ``conformance.settings``, as ``--parity-...``."""
    group = parser.getgroup("candle-parity")
    for row in OPTIONS:
        if row.pytest:
            group.addoption(row.long.replace("--", "--parity-", 1), **row.arguments(PREFIX))


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that judges kernels, if this run may judge any. Raises ``pytest.UsageError`` for a bad
    option, declaration or variable of the environment."""
    given = any(value is not None for name, value in vars(config.option).items() if name.startswith(PREFIX))
    if given or config.rootpath.resolve() == source_tree() or _declared(config):
        from conformance import environment
        from conformance.errors import UsageError
        from conformance.pytest_items import Parity
        from conformance.session.cache_folder import check_cache

        try:
            environment.check()
            check_cache()
        except (environment.EnvironmentValueError, UsageError) as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(Parity(config), "candle-parity-items")


def _declared(config: pytest.Config) -> bool:
    """Whether a file there names a port's kernels; raises ``pytest.UsageError`` for one that cannot be used.

    A file that is named nearly as a declaration ends the session with exit code 2, where there is no other: its kernels
    would not be judged, and the session would be green.
    """
    folders = (config.invocation_params.dir, config.rootpath)
    if not any(_names_us(folder) for folder in folders):
        return False
    from conformance.port.config import config_in, unread
    from conformance.port.sources import SourceError

    try:
        config_here = config_in(folders)
    except SourceError as error:
        raise pytest.UsageError(str(error)) from None
    try:
        for text in unread(config_here, dict.fromkeys(folder.resolve() for folder in folders)):
            config.issue_config_time_warning(pytest.PytestConfigWarning(f"candle-parity: {text}"), 2)
    except SourceError as error:
        pytest.exit(f"candle-parity: {error}", 2)
    return config_here is not None and config_here.settings.kernels is not None


def _names_us(folder: Path) -> bool:
    """Whether to read the configuration, or a file may be meant as one."""
    try:
        if any("candle" in name and "parity" in name for name in map(str.lower, os.listdir(folder))):
            return True
        return b"candle-parity" in (folder / "pyproject.toml").read_bytes()
    except OSError:
        return False
