"""Pinned cases: launches of programs that a port keeps, and that ``run`` and pytest judge with the generated cases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.cases.case import Case
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.errors import UsageError
from conformance.port.config import Config
from conformance.settings import Settings
from conformance.spec.load import Specs

PINNED = "pinned"
"""The folder of pinned cases, next to the port's file where that names no other."""


@dataclass(frozen=True)
class PinnedCases:
    """The pinned cases of a port by kernel, and the folder that they are kept in (``None``: there are none)."""

    folder: Path | None = None
    cases: Mapping[str, tuple[Case, ...]] = field(default_factory=dict)

    def mode(self, tree: Tree) -> JudgeGenerated:
        """The mode that judges ``tree`` by generated cases, and by these."""
        if self.folder is None:
            return JudgeGenerated(tree)
        from conformance.engine.recordings import JudgeWithPinned, digest_of_traces  # only who keeps cases needs it

        return JudgeWithPinned(tree, self.folder, digest_of_traces(self.folder))


def place_of_pinned(settings: Settings, config: Config | None) -> Path:
    """Where cases of the port that ``config`` declares are kept: the folder of ``--pinned``, else the one that its file
    names, else ``pinned`` next to the file, without a file in the working directory."""
    if settings.pinned is not None:
        return settings.pinned
    if config is None:
        return Path(PINNED)
    named = config.settings.pinned or config.file.parent / PINNED
    return Path(os.path.relpath(named)) if named.is_relative_to(Path.cwd()) else named


def pinned_cases(settings: Settings, config: Config | None, specs: Specs) -> PinnedCases:
    """The pinned cases of the port that ``config`` declares.

    A folder that nobody named need not be there, and without a file of the port none is looked for. Raises
    ``TraceError`` for a folder that cannot be read, and ``UsageError`` for cases of what is no kernel of ``specs``.
    """
    named = settings.pinned or (None if config is None else config.settings.pinned)
    if named is None and config is None:
        return PinnedCases()
    folder = place_of_pinned(settings, config)
    if named is None and not folder.is_dir():
        return PinnedCases()
    from conformance.replay.archive import SUFFIX  # only who keeps cases needs it
    from conformance.replay.traces import Traces

    if named is None and not any(folder.glob(f"*{SUFFIX}")):
        return PinnedCases()
    traces = Traces(folder)
    names = [*traces.kernels, *traces.launchers]
    _check_known(folder, names, specs)
    return PinnedCases(folder.resolve(), {name: tuple(traces.cases(name)) for name in names})


def _check_known(folder: Path, names: Iterable[str], specs: Specs) -> None:
    unknown = [name for name in names if name not in specs.loaded_by_name and name not in specs.launchers]
    if unknown:
        raise UsageError(
            f"{folder} has pinned cases of {unknown[0]}, which is no kernel of the specs; remove them, or name another "
            "folder with --pinned"
        )
