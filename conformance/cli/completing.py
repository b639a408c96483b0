"""Completion in the shell, through argcomplete where it is installed: ``pip install 'candle-parity[completion]'``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer and exit where a shell asks for completions; return at once everywhere else."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)


def kernel_names(prefix: str, **_: object) -> Iterable[str]:
    """Completions of a PATTERN."""
    from conformance.spec.load import load_specs

    return [name for name in load_specs().kernels if name.startswith(prefix)]


def module_names(**_: object) -> Iterable[str]:
    """Completions of ``--module``."""
    from conformance.files import spec_folder

    return sorted(path.stem for path in spec_folder().glob("*.yaml"))
