"""The kernels that the Rust side can ask for, against those that the specs define."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from candle_wiring.paths import TooMany
from candle_wiring.program import Program
from candle_wiring.search import Request, requests
from candle_wiring.sources import LOADS, backend_folder, defined_here, read_sources
from conformance.dtypes import DTYPES, SPELLINGS
from conformance.port.declared.names import OWN_NAMES, Names
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.upstream.rust import RustError

_SPELLED = re.compile("|".join(SPELLINGS))
_DTYPE = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, DTYPES))})(?![a-z0-9])")


@dataclass(frozen=True)
class Ask:
    """A request for a kernel, with its evidence. All places are ``file:line``.

    ``asked_at`` are the places that ask: the calls that hand the name over, or the load if the name is made there.
    ``at`` is the load, ``spelled`` are the literals that the name consists of, ``callers`` the calls that hand it over.
    ``pattern`` is set where a part of the name is not known.
    """

    asked_at: tuple[str, ...]
    at: str
    spelled: tuple[str, ...]
    callers: tuple[str, ...]
    pattern: str | None = None


@dataclass(frozen=True)
class Missing:
    """A name that is asked for and that no spec has. ``near`` is the kernel that was probably meant, if there is one.

    ``defined_at`` is set where the checkout's own kernel sources define it. Then it is not missing: the port has more
    than Candle.
    """

    name: str
    asks: tuple[Ask, ...]
    near: str | None
    defined_at: str | None = None


@dataclass(frozen=True)
class Unresolved:
    """A load whose name the analysis cannot follow: the part of the name that is known (``*`` for the rest), and why.

    ``module`` is the one from which it loads, if its arguments say that.
    """

    at: str
    pattern: str
    why: str
    module: str | None = None

    def may_ask(self, kernel: Kernel, name: str) -> bool:
        """Whether it may ask for ``kernel``, which the backend calls ``name``."""
        parts = self.pattern.split("*")
        fits = re.fullmatch("[A-Za-z0-9_]+".join(map(re.escape, parts)), name) is not None
        return fits and self.module in (None, kernel.module)


@dataclass(frozen=True)
class Wiring:
    """What a backend asks for: the evidence by kernel, missing names, kernels that Candle does not have, loads that are
    not resolved.

    A kernel without evidence is never asked for, unless ``not_told`` has it, with the loads that may ask for it.
    ``partial`` are places that the parser could not read, in files without loads.
    """

    candle: Path
    backend: str
    kernels: dict[str, tuple[Ask, ...]]
    missing: tuple[Missing, ...]
    unresolved: tuple[Unresolved, ...]
    not_told: Mapping[str, tuple[str, ...]]
    beyond: tuple[Missing, ...] = ()
    partial: tuple[str, ...] = ()

    def wired_at(self, kernel: str) -> list[str]:
        """The places (``file:line``) that can ask for ``kernel``; empty where none does."""
        return list(dict.fromkeys(place for ask in self.kernels.get(kernel, ()) for place in ask.asked_at))


def wire(candle: Path, backend: str, specs: Specs, loads: Sequence[str] = (), called: Names = OWN_NAMES) -> Wiring:
    """What a backend of the checkout ``candle`` asks for. Raises ``CheckoutError`` and ``RustError``.

    ``loads`` are functions that load a kernel by name, besides ``LOADS``. ``called`` has the backend's names of
    kernels.
    """
    folder = backend_folder(candle, backend)
    sources = read_sources(candle, folder, frozenset((*LOADS, *loads)))
    program = Program(sources.index, sources.loads, sources.serves)
    found: list[Request] = []
    unresolved: list[Unresolved] = []
    try:
        for call, function in sources.calls:
            try:
                found += requests(program, call, function)
            except TooMany as cause:
                unresolved.append(Unresolved(function.scope.place(call), "*", str(cause)))
    except RecursionError:
        raise RustError(candle, None, "holds Rust nested too deep to be analysed; check it out anew") from None
    asked: dict[str, list[Ask]] = defaultdict(list)
    strange: dict[str, list[Ask]] = defaultdict(list)  # what is no kernel's name, or not in this port
    for request in found:
        known = request.text.known
        if known is not None:
            meant = [name for name in called.candles(known) if name in specs.kernels]
            for asks in [asked[name] for name in meant] or [strange[known]]:
                asks.append(_ask(request))
            continue
        fitting = _fitting(request, specs, called)
        for name in fitting:
            asked[name].append(_ask(request))
        if not fitting:
            why = "a part of the name is not known" if request.text.pattern != "*" else "the name is not known"
            unresolved.append(Unresolved(request.at, request.text.pattern, why, _module(request, specs)))
    unresolved += [
        Unresolved(place, "*", f"no analysed call reaches it {within}")
        for place, within in (*sources.others, *program.unfollowed.items())
    ]
    kernels = {name: tuple(asked.get(name, ())) for name in specs.kernels}
    idle = [kernel for name, kernel in specs.kernels.items() if not kernels[name]]
    own = defined_here(candle, strange)
    missing = tuple(
        Missing(name, tuple(asks), called.ports.get(name) or _near(name, idle, specs))
        for name, asks in sorted(strange.items())
        if name not in own
    )
    beyond = tuple(Missing(name, tuple(strange[name]), None, place) for name, place in sorted(own.items()))
    unresolved.sort(key=lambda one: _sortable(one.at))
    not_told = {
        kernel.name: tuple(dict.fromkeys(one.at for one in unresolved if one.may_ask(kernel, called.port(kernel.name))))
        for kernel in idle
    }
    not_told = {name: places for name, places in not_told.items() if places}
    return Wiring(candle, folder.name, kernels, missing, tuple(unresolved), not_told, beyond, sources.partial)


def _ask(request: Request) -> Ask:
    pattern = None if request.text.known is not None else request.text.pattern
    return Ask(tuple(request.asked_at), request.at, tuple(request.places), tuple(request.callers), pattern)


def _fitting(request: Request, specs: Specs, called: Names) -> list[str]:
    """The kernels that a name with unknown parts may be; none where how it begins is not known."""
    if not (request.text.parts[0] or "").strip("_"):
        return []
    expression = request.text.expression()
    return [name for name in specs.kernels if expression.fullmatch(called.port(name))]


def _module(request: Request, specs: Specs) -> str | None:
    """The module that a load's arguments name: ``&kernels::QUANTIZED``, ``ReduceKernel::CODE``."""
    marked = [word for word in request.words if word.isupper() or word.endswith("Kernel")]
    named = {word.lower().removesuffix("kernel").removesuffix("_") for word in marked} & specs.modules.keys()
    return named.pop() if len(named) == 1 else None


def _near(name: str, idle: Sequence[Kernel], specs: Specs) -> str | None:
    """The kernel that is likely meant: one with another spelling of the dtype, else a similar unused one of the same
    dtypes."""
    plain = _plain(name)
    for kernel in specs.kernels.values():
        if _plain(kernel.name) == plain:
            return kernel.name
    alike = [kernel.name for kernel in idle if _DTYPE.findall(_plain(kernel.name)) == _DTYPE.findall(plain)]
    return next(iter(difflib.get_close_matches(name, alike, n=1, cutoff=0.9)), None)


def _plain(name: str) -> str:
    return _SPELLED.sub(lambda match: SPELLINGS[match.group()], name).lower()


def _sortable(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)
