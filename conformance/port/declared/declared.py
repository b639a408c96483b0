"""All that a port declares, as plain data that goes to every process of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from conformance.adapter import AdapterRow
from conformance.cases.candle_changes import CHANGES, CandleChange, changes_from
from conformance.geometry import GeometryRow
from conformance.port.config import Config, Excluded, KnownFailure
from conformance.port.declared.adapters import check_adapters
from conformance.port.declared.geometry import check_geometry
from conformance.port.declared.known import check_excluded, check_rows, matches
from conformance.port.declared.names import OWN_NAMES, Names, names_of
from conformance.port.signature import have_one_form
from conformance.port.sources import SourceError
from conformance.reading import shortened
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class Declared:
    """What the file ``file`` says of a port: the names of its kernels, failures that its authors know, and the kernels
    in which it mends an upstream defect, geometry of its own, the first of Candle's changes that it does not follow,
    the kernels and launchers that it does not have, and parameters of its own."""

    file: str = ""
    names: Names = OWN_NAMES
    known_failures: tuple[KnownFailure, ...] = ()
    fixed: tuple[str, ...] = ()
    launch: tuple[GeometryRow, ...] = ()
    candle_before: str | None = None
    exclude: tuple[Excluded, ...] = ()
    adapter: tuple[AdapterRow, ...] = ()

    @property
    def changes(self) -> tuple[CandleChange, ...]:
        """The changes of Candle's that the port does not follow."""
        return () if self.candle_before is None else changes_from(self.candle_before)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits over all of it but where the file is, nothing declared included."""
        names = [str(alias) for alias in self.names.aliases]
        known = [asdict(row) for row in self.known_failures]
        launch = [{key: one for key, one in asdict(row).items() if key != "when" or one} for row in self.launch]
        rows = [known, launch]
        # digests without them stay what they were
        adapters = [_without_none(asdict(row)) for row in self.adapter]
        later = [self.candle_before, [asdict(row) for row in self.exclude], adapters]
        return hashlib.sha256(json.dumps([names, *rows, self.fixed, *filter(None, later)]).encode()).hexdigest()[:16]

    def about(self, kernel: Kernel) -> Declared:
        """What of it is about ``kernel``: a launcher chooses its geometry itself and is called with Candle's arguments,
        so that rows of [[launch]] and [[adapter]] are not about one, whatever their patterns match."""
        return replace(self, launch=(), adapter=()) if kernel.is_host_function else self

    def excluded(self, kernel: str) -> Excluded | None:
        """The row that says that the port does not have ``kernel``, if any."""
        return next((row for row in self.exclude if matches(row.kernels, kernel)), None)


_NEWER = ("at", "scalar", "bits")


def _without_none(value: Any) -> Any:
    """``value``, an adapter as plain data, without the newer keys of values that do not have them."""
    if isinstance(value, dict):
        found = {key: one for key, one in value.items() if key not in _NEWER or one is not None}
        return {key: _without_none(one) for key, one in found.items()}
    return [_without_none(one) for one in value] if isinstance(value, list | tuple) else value


NOTHING = Declared()


def declared_in(config: Config | None, kernels: Mapping[str, Kernel], launchers: Mapping[str, Kernel]) -> Declared:
    """What ``config`` declares of the ``kernels`` and ``launchers`` of the specs; raises ``SourceError`` for what does
    not fit them. Launchers choose their geometry themselves."""
    if config is None:
        return NOTHING
    where = str(config.file)
    check_rows(config.known_failures, kernels, where, launchers)
    check_excluded(config.exclude, kernels, where, launchers)
    check_adapters(config.adapter, kernels, where)
    check_geometry(config.launch, kernels, where)
    if config.candle_before is not None and not changes_from(config.candle_before):
        known = ", ".join(change.commit for change in CHANGES)
        raise SourceError(
            f"{where}: candle_before: {shortened(config.candle_before)!r} is none of the commits by which these specs "
            f"know an older Candle; they are {known}"
        )
    return Declared(
        where,
        names_of(config.names, kernels, where, launchers, lambda one, other: _alike(kernels, one, other)),
        config.known_failures,
        fixed_kernels(config.fixes, {**kernels, **launchers}, where),
        config.launch,
        config.candle_before,
        config.exclude,
        config.adapter,
    )


def _alike(kernels: Mapping[str, Kernel], one: str, other: str) -> bool:
    """Whether a port's kernel can be both: launchers are linked by name, and none is two."""
    return one in kernels and other in kernels and have_one_form(kernels[one], kernels[other])


def fixed_kernels(named: Iterable[str], kernels: Mapping[str, Kernel], where: str) -> tuple[str, ...]:
    """The kernels of which the right result is expected: those that ``named`` matches, or whose defect it names.

    Raises ``SourceError`` for a name that is not a defect with a known right result, or that no kernel has.
    """
    fixable = {name: kernel.fix.name for name, kernel in kernels.items() if kernel.fix is not None}
    found: dict[str, None] = {}
    for text in named:
        mine = [name for name, fix in fixable.items() if text == fix or matches(text, name)]
        if not mine:
            known = ", ".join(dict.fromkeys(fixable.values()))
            raise SourceError(
                f"{where}: fixes: {shortened(text)!r} names neither a defect of Candle's whose right result is known, "
                f"nor a kernel that has one; the defects are {known}"
            )
        found.update(dict.fromkeys(mine))
    return tuple(found)
