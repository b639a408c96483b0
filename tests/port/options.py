"""The options of a tree, as a command that is given these and finds the tree's own file has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.port import options
from conformance.port.config import Config, config_beside
from conformance.port.options import BuildOptions
from conformance.settings import Settings


def options_for(
    kernels: Path,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    dialect: str | None = None,
    undefines: Sequence[str] = (),
    std: str | None = None,
    config: Config | None = None,
) -> BuildOptions:
    given = Settings(
        include_dirs=tuple(include_dirs),
        defines=tuple(defines),
        undefines=tuple(undefines),
        forced_includes=tuple(forced),
        std=std,
        dialect=dialect,
    )
    return options.options_for(given, config or config_beside(kernels))
