"""A parameter list of a port's own, as it is declared. ``conformance.cases.adapted`` makes arguments of it.

Here, since reading a declaration must not bring numpy into the runs of other people's pytest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnValue:
    """A value of dtype ``type``: an expression over Candle's integers, or elements of Candle's argument ``array``.

    Of an array there are ``count`` elements from element ``first`` on (expressions). A parameter is a pointer to them;
    in a struct they are a field of ``room`` elements, the rest 0. A field may also be Candle's argument ``candle``, of
    that one's type: a pointer or a number.
    """

    type: str = ""
    candle: str | None = None
    value: str | None = None
    array: str | None = None
    first: str = "0"
    count: str | None = None
    room: int = 1


@dataclass(frozen=True)
class OwnParameter:
    """A parameter of the port's kernel: Candle's argument ``candle``, a value, or a struct by value of several."""

    candle: str | None = None
    value: OwnValue | None = None
    struct: tuple[OwnValue, ...] = ()


@dataclass(frozen=True)
class AdapterRow:
    """The parameters, in order, that the port's ``kernels`` have in place of Candle's."""

    kernels: str
    params: tuple[OwnParameter, ...]
