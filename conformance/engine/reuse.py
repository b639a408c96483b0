"""Verdicts of earlier runs, taken over where nothing that they depend on has changed (``--reuse``).

Only a ``pass`` is kept, by the bytes of the code object, where those are all that the kernel depends on
(``conformance.runtimes.cpu.dependence`` has what is known of that), and only where kernels run on the host, whose
threads take turns in an order that is the same every time: a GPU may answer otherwise the next time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from conformance.cache import ObjectFolder
from conformance.cases.case import Case
from conformance.engine.coding import to_map
from conformance.engine.messages import Ready, Setup
from conformance.engine.modes import JudgeGenerated, PortMode
from conformance.environment import RUN_ID
from conformance.files import CACHE, cache_folder, harness_digest
from conformance.outcome import Outcome
from conformance.processes.supervisor import MARK
from conformance.runtimes import runtime_kind
from conformance.runtimes.cpu.dependence import dependence_of
from conformance.spec.kernel import Kernel
from conformance.verdict.kept_answers import computed_by

MOST_BYTES = 64 << 20
"""Of all kept verdicts; the oldest go first."""

_NO_MATTER = {
    "device",
    "threads",
    "command",
    "choice",
    "kernels",
    "config",
    "include_dirs",
    "compile_seconds",
    "all_cases",
    "asked",
    "member",
    "pinned",
}
"""Of a ``Setup``: where things are, what the code object has already, and which other cases are run besides."""


class KeptVerdicts:
    """The kept verdicts that a run can use, given its ``setup`` and ``mode`` and what is ``ready``."""

    def __init__(self, setup: Setup, mode: PortMode, ready: Ready) -> None:
        self._uses = setup.reuse and isinstance(mode, JudgeGenerated) and runtime_kind(setup.runtime).on_host
        self._setup, self._ready, self._declared, self._data = setup, ready, mode.tree.declared, mode.data
        self._folder = ObjectFolder(cache_folder() / "verdicts", "judged", MOST_BYTES)

    def key(
        self,
        kernel: Kernel,
        cases: Sequence[Case] | None,
        code: str,
        loaded: Callable[[], Mapping[str, bytes]],
    ) -> str | None:
        """The key of the verdict on ``cases`` of ``kernel`` in the code object with the digest ``code``.

        ``loaded`` gives all code objects of its process. ``None`` means that no verdict is kept, because the kernel may
        depend on more than its code object: on another library, on what it asks the system for, or on code that ran
        while another object was loaded.
        """
        if not self._uses or not code or not _stands_alone(code, loaded()):
            return None
        settings = {name: value for name, value in to_map(self._setup)["data"].items() if name not in _NO_MATTER}
        ids = None if cases is None else [case.id for case in cases]
        asked = [settings, to_map(self._ready), self._declared.digest, _judged_by(), repr(kernel), ids, code]
        asked += [self._data] if self._data else []
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def find(self, key: str | None) -> Outcome | None:
        """The outcome that was kept under ``key``; ``None`` where there is none."""
        content = None if key is None else self._folder.read(key)
        return None if content is None else Outcome.model_validate_json(content).model_copy(update={"kept": True})

    def keep(self, key: str | None, outcome: Outcome) -> None:
        """Keep ``outcome`` under ``key`` if it is a pass."""
        if key is not None and outcome.status == "pass":
            with self._folder.turn(key, 0.0) as ours:
                if ours:
                    self._folder.keep(key, outcome.model_dump_json().encode())


def _stands_alone(code: str, loaded: Mapping[str, bytes]) -> bool:
    """Whether a kernel in the object with digest ``code`` depends on nothing but its bytes, as far as can be known."""
    others = any(dependence_of(content).constructors for digest, content in loaded.items() if digest != code)
    return code in loaded and not others and not dependence_of(loaded[code]).outside


@cache
def _judged_by() -> tuple[str, ...]:
    """The harness, and all of this machine that a verdict may depend on."""
    names = {name for name in os.environ if name.startswith(("CANDLE_PARITY_", "HIP"))} - {CACHE, MARK, RUN_ID}
    settings = [f"{name}={os.environ[name]}" for name in sorted(names)]
    return (harness_digest(), computed_by(), sys.version, platform.platform(), *settings)
