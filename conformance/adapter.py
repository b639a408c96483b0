"""A parameter list of a port's own, as it is declared. ``conformance.cases.adapted`` makes arguments of it.

Here, since reading a declaration must not bring numpy into the runs of other people's pytest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnValue:
    """A value of dtype ``type``: an expression over Candle's integers, elements of Candle's argument ``array``, or a
    number that Candle passes by value.

    Of an array there are ``count`` elements from element ``first`` on (expressions). A parameter is a pointer to them;
    in a struct they are a field of ``room`` elements, the rest 0. With ``at`` it is the one element of that number, by
    value. ``scalar`` is Candle's argument whose number is passed, rounded to ``type`` where that is narrower, ``bits``
    the one whose bits are passed as an integer. A field may also be Candle's argument ``candle``, of that one's type: a
    pointer or a number.
    """

    type: str = ""
    candle: str | None = None
    value: str | None = None
    array: str | None = None
    first: str = "0"
    count: str | None = None
    room: int = 1
    at: str | None = None
    scalar: str | None = None
    bits: str | None = None

    @property
    def is_pointer(self) -> bool:
        """Whether a parameter that is this value points to it."""
        return self.array is not None and self.at is None


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
