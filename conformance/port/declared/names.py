"""Names: what a port calls Candle's kernels, by patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from conformance.port.declared.known import counted
from conformance.port.sources import SourceError
from conformance.reading import shortened

_PATTERN = re.compile(r"[\w*]{1,200}", re.ASCII)
_MOST_STARS = 3


@dataclass(frozen=True)
class Alias:
    """One line of ``[names]``: the kernels that the pattern matches, by Candle's name, with the port's."""

    candle: str
    port: str
    kernels: Mapping[str, str]

    def __str__(self) -> str:
        return f'"{self.candle}" = "{self.port}"'


@dataclass(frozen=True)
class Names:
    """Candle's names and the port's; a kernel that no alias is about has the same name in both.

    ``keeping`` are the kernels with the same name in both that an alias has other kernels share.
    """

    aliases: tuple[Alias, ...] = ()
    keeping: frozenset[str] = frozenset()

    @cached_property
    def ports(self) -> dict[str, str]:
        """The port's names of the kernels that have another one there, by Candle's."""
        return {candle: port for alias in self.aliases for candle, port in alias.kernels.items()}

    @cached_property
    def _candles(self) -> dict[str, list[str]]:
        found = {name: [name] for name in self.keeping}
        for candle, port in self.ports.items():
            found.setdefault(port, []).append(candle)
        return found

    def port(self, candle: str) -> str:
        """What the port calls Candle's kernel."""
        return self.ports.get(candle, candle)

    def candles(self, port: str) -> Sequence[str]:
        """Which kernels the port's ``port`` is, a name of the port's own staying as it is; none for a name of Candle's
        that the port's kernel of that name does not have."""
        return self._candles.get(port, [] if port in self.ports else [port])

    def candle(self, port: str) -> str | None:
        """The first of ``candles``, if any: all there is of a launcher, which no two share."""
        return next(iter(self.candles(port)), None)

    def shown(self, port: str) -> Sequence[str]:
        """What a report calls the port's ``port``: Candle's names, or ``the port's own NAME`` where that is not the one
        of Candle's kernel."""
        return self.candles(port) or [f"the port's own {port}"]

    def unmatched(self, missing: Collection[str]) -> list[str]:
        """A sentence for each alias all of whose kernels are ``missing`` from the port."""
        return [
            f"names: {alias} matches no kernel of the port, such as {next(iter(alias.kernels.values()))}; remove it"
            for alias in self.aliases
            if all(name in missing for name in alias.kernels)
        ]


OWN_NAMES = Names()


def _never(one: str, other: str) -> bool:
    return False


def names_of(
    rows: Iterable[tuple[str, str]],
    kernels: Collection[str],
    where: str,
    launchers: Collection[str] = (),
    alike: Callable[[str, str], bool] = _never,
) -> Names:
    """The aliases that the lines ``rows`` make of ``kernels``, those of the specs; ``where`` is the file's name.

    A line that matches a kernel is about kernels, and one that matches none about ``launchers``: these are linked by
    name, so that a port may rename its kernels alone. One kernel of the port's may be several of Candle's where
    ``alike`` says of each two of them that one can be both.

    Raises ``SourceError`` for a pattern with another character than ``*``, or matching nothing, and for aliases that
    do not tell which kernel is which.
    """
    aliases = tuple(_alias(candle, port, kernels, launchers, f"{where}: names") for candle, port in rows)
    taken: dict[str, Alias] = {}
    for alias in aliases:
        for name, port in alias.kernels.items():
            other = taken.setdefault(name, alias)
            if other.kernels[name] != port:
                raise SourceError(
                    f"{where}: names: {name} is ambiguous: {other} calls it {other.kernels[name]}, {alias} calls it "
                    f"{port}; make one of the patterns narrower"
                )
    names = Names(aliases)
    owners: dict[str, list[str]] = {}
    for kernel in (*kernels, *launchers):
        port = names.port(kernel)
        for owner in owners.setdefault(port, []):
            if not alike(owner, kernel):
                raise SourceError(
                    f"{where}: names: {port} is ambiguous: it would be both {owner} and {kernel}, whose parameters "
                    "differ in more than the type of what is only moved; make a pattern narrower"
                )
        owners[port].append(kernel)
    keeping = {port for port, mine in owners.items() if len(mine) > 1 and port in mine and port not in names.ports}
    return Names(aliases, frozenset(keeping))


def _alias(candle: str, port: str, kernels: Collection[str], launchers: Collection[str], where: str) -> Alias:
    line = f'"{shortened(candle)}" = "{shortened(port)}"'
    for pattern in (candle, port):
        if not _PATTERN.fullmatch(pattern) or pattern.count("*") > _MOST_STARS:
            raise SourceError(
                f"{where}: {line} is not a pair of names; letters, digits, _ and at most {_MOST_STARS} * are allowed"
            )
    if candle.count("*") != port.count("*"):
        raise SourceError(f"{where}: {line} must have as many * on both sides")
    found: dict[str, str] = {}
    mine = [name for name in kernels if _readings(candle, name)] or launchers
    for kernel in mine:
        readings = {_filled(port, parts) for parts in _readings(candle, kernel)}
        if len(readings) > 1:
            raise SourceError(f"{where}: {line} is ambiguous: {kernel} may be {' or '.join(sorted(readings))}")
        found.update((kernel, reading) for reading in readings)
    if not found:
        raise SourceError(f"{where}: {line} matches none of the {counted(kernels, launchers)} of the specs; correct it")
    return Alias(candle, port, found)


def _readings(pattern: str, name: str) -> list[Sequence[str]]:
    """What the stars of ``pattern`` stand for in ``name``: as little and as much as they can."""
    stars = (star.join(map(re.escape, pattern.split("*"))) for star in ("(.+?)", "(.+)"))
    return [match.groups() for match in (re.fullmatch(text, name) for text in stars) if match is not None]


def _filled(pattern: str, parts: Sequence[str]) -> str:
    fixed = pattern.split("*")
    return "".join(before + part for before, part in zip(fixed, (*parts, ""), strict=True))
