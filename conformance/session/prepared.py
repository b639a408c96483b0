"""From what a user asked for to everything that a run of a port needs, for the command line and for scripts alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.engine.messages import Setup
from conformance.engine.modes import JudgeGenerated
from conformance.port.config import Config
from conformance.session.pinned import pinned_cases
from conformance.session.selection import check_cases, judgeable, own_left_out, select, without_undefined
from conformance.session.setup import config_from, setup_from, specs_from, tree_from
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs


@dataclass(frozen=True)
class PreparedRun:
    """Everything that a run of a port needs; nothing has been compiled yet.

    ``kernels`` are the selected ones, followed by launchers and library calls. ``cases`` has the case ids that were
    asked for, by kernel; a kernel that is absent there is judged by all its cases. ``config`` is what the port's file
    declares. ``left_out`` is a sentence about the port's own kernels that were selected and are not judged; ``None``
    where there are none.
    """

    specs: Specs
    config: Config | None
    kernels: Sequence[Kernel]
    cases: dict[str, tuple[str, ...]]
    mode: JudgeGenerated
    setup: Setup
    left_out: str | None

    @property
    def whole(self) -> bool:
        """Whether every kernel of the specs is judged by all its cases."""
        names = {kernel.name for kernel in self.kernels}
        return not self.cases and names >= self.specs.kernels.keys()


def prepare(settings: Settings, patterns: Sequence[str] = (), modules: Sequence[str] | None = None) -> PreparedRun:
    """The run that ``settings`` and ``patterns`` ask for.

    A pattern is a kernel glob, a case id or a pattern over cases; without patterns everything is selected. ``modules``
    restricts the selection to these modules.

    Raises ``UserError``, whose message is one sentence: no port is named, it has no kernels, a pattern matches nothing,
    a declaration cannot be read, or a runtime cannot run here.
    """
    config = config_from(settings)
    specs = specs_from(settings, config)
    pinned = pinned_cases(settings, config, specs)
    kernels, cases = select(specs, patterns, modules, launchers=True, pinned=pinned.cases)
    check_cases(specs, cases, pinned.cases)
    left_out = own_left_out(kernels)
    kernels = judgeable(kernels)
    mode = pinned.mode(tree_from(settings, specs, config))
    if not patterns and not modules:
        kernels = without_undefined(kernels, mode.tree)
    setup = setup_from(settings, ["candle-parity", "run"], mode.tree, config)
    return PreparedRun(specs, config, kernels, cases, mode, setup, left_out)
