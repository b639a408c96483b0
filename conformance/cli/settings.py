"""What a user may say of how kernels are compiled and run, on the command line or as pytest options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from conformance.engine.messages import COMPILE_SECONDS
from conformance.port.compiling.target import CompilerChoice


@dataclass(frozen=True)
class Settings:
    """The options of a command that runs kernels, by the names of the command line; each has a default."""

    runtime: str = "auto"
    wave: int | None = None
    kernels: Path | None = None
    specs: Path | None = None
    order: tuple[str, ...] = ()
    compiler: CompilerChoice = "auto"
    compile_timeout: float = COMPILE_SECONDS
    no_sandbox: bool = False
    seed_salt: str = ""
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    forced: tuple[Path, ...] = ()
    dialect: str | None = None
    undefines: tuple[str, ...] = ()
    std: str | None = None
    config: Path | None = None
    target: str | None = None
    perturb: int = 0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """The settings among ``options``; those that are absent or ``None`` have their defaults."""
        given: dict[str, Any] = {}
        for name in cls.names():
            value = options.get(name)
            if value is not None:
                given[name] = tuple(value) if isinstance(value, list) else value
        return cls(**given)

    @classmethod
    def names(cls) -> list[str]:
        """What settings there are, as the command line's parser calls them."""
        return [field.name for field in fields(cls)]
