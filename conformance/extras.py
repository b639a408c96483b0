"""Packages that only one wing needs: what is missing, and the command that installs it.

Each is an extra of the distribution (``[project.optional-dependencies]``, which a test holds these rows to). The
command names the packages and not ``candle-parity[EXTRA]``: it is right for a clone, a wheel and a release alike.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from conformance.errors import UsageError


@dataclass(frozen=True)
class Extra:
    """An extra of the distribution, such as ``candle-parity[export]``.

    ``modules`` are the Python modules that it brings, ``packages`` the requirements that bring them, and ``what`` is
    what they are needed for, in words.
    """

    name: str
    modules: tuple[str, ...]
    packages: tuple[str, ...]
    what: str

    @property
    def command(self) -> str:
        """The command that installs it: ``pip install 'safetensors>=0.5'``."""
        return f"pip install {shlex.join(self.packages)}"


EXTRAS = (
    Extra("completion", ("argcomplete",), ("argcomplete>=3.3",), "completion in a shell"),
    Extra("export", ("safetensors",), ("safetensors>=0.5",), "safetensors files"),
    Extra(
        "upstream",
        ("tree_sitter", "tree_sitter_rust"),
        ("tree-sitter>=0.25,<0.27", "tree-sitter-rust>=0.24,<0.25"),
        "reading Candle's Rust sources",
    ),
    Extra("watch", ("watchfiles",), ("watchfiles>=1.0",), "--watch"),
)


class MissingExtra(UsageError):
    """A package of an extra is not installed. The message has the command that installs it."""


def missing(error: ModuleNotFoundError, who: str) -> MissingExtra | None:
    """The error to raise in place of ``error`` where that is about a module of an extra; ``None`` for other modules.

    ``who`` is the command that needs the module, for the message.
    """
    module = (error.name or "").partition(".")[0]
    extra = next((row for row in EXTRAS if module in row.modules), None)
    if extra is None:
        return None
    return MissingExtra(f"{who}: {extra.what} needs a package that is not installed ({module}): {extra.command}")
