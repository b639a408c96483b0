"""From what a user asked for to everything that a run of a port needs, for the command line and for scripts alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.engine.messages import Setup
from conformance.engine.modes import JudgeGenerated
from conformance.port.config import Config
from conformance.session.selection import check_cases, judgeable, own_left_out, select, without_undefined
from conformance.session.setup import config_from, setup_from, specs_from, tree_from
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs


@dataclass(frozen=True)
class PreparedRun:
    """A run of a port that nothing was compiled for yet.

    ``kernels`` are those that were selected, launchers and library calls behind them; ``cases`` has the case ids that
    were asked for, by kernel (absent: all its cases). ``config`` is what the port's file declares. ``left_out`` says,
    in a sentence, which own kernels of the port were selected and are not judged (``None``: none).
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
        """Whether every kernel of the specs is judged, by all its cases."""
        names = {kernel.name for kernel in self.kernels}
        return not self.cases and names >= self.specs.kernels.keys()


def prepare(settings: Settings, patterns: Sequence[str] = (), modules: Sequence[str] | None = None) -> PreparedRun:
    """What ``settings`` and ``patterns`` (kernel globs, case ids, patterns over cases) ask for, of ``modules`` only
    where there are such.

    Raises ``UserError``, whose message is one sentence: for kernels that are not there or are not named, a pattern that
    matches nothing, a declaration that cannot be read, a runtime that cannot run here.
    """
    config = config_from(settings)
    specs = specs_from(settings, config)
    kernels, cases = select(specs, patterns, modules, launchers=True)
    check_cases(specs, cases)
    left_out = own_left_out(kernels)
    kernels = judgeable(kernels)
    mode = JudgeGenerated(tree_from(settings, specs, config))
    if not patterns and not modules:
        kernels = without_undefined(kernels, mode.tree)
    setup = setup_from(settings, ["candle-parity", "run"], mode.tree, config)
    return PreparedRun(specs, config, kernels, cases, mode, setup, left_out)
