"""A wiring as JSON and as text.

The JSON, schema 1 (every place is ``file:line``, the file relative to the checkout)::

    {"schema": 1, "candle": "PATH", "backend": "cuda_backend", "upstream_commit": "...",
     "summary": {"total": 748, "wired": 0, "never_asked": 0, "not_told": 0, "missing": 0, "beyond": 0,
                 "unresolved": 0},
     "kernels": [{"name": "uexp_f32", "module": "unary", "upstream": "unary.cu:192", "wired": true,
                  "wired_at": ["..."], "not_told": ["..."],
                  "asks": [{"at": "...", "spelled": ["..."], "callers": ["..."], "pattern": null}]}],
     "missing": [{"name": "uexp_f8e4m3", "near": "uexp_fp8_e4m3", "asked_at": ["..."], "asks": [...]}],
     "beyond": [{"name": "own_f32", "defined_at": "...", "asked_at": ["..."]}],
     "unresolved": [{"at": "...", "pattern": "*", "why": "...", "module": null}],
     "partial": ["..."], "missing_in_port": [{"name": "uexp_f32", "asked_at": ["..."]}],
     "launched": [{"name": "uexp_f32", "by": [{"program": "./model", "launches": 3}]}]}

``kernels`` are all of the specs, in their order. ``wired_at`` and ``asked_at`` are the places that ask: the call that
hands the name to a function which loads what it is given, else the load itself. An ask's ``at`` is the call that loads
the kernel, ``spelled`` the literals that the name is made of, ``callers`` the calls that hand it over, and ``pattern``
the name with ``*`` for a part that the analysis does not know (null where all of it is known). ``not_told`` are the
unresolved loads that may ask for a kernel which no other load asks for: whether it is wired is then not known.
``missing_in_port`` is there where kernels of a port were given: what is asked for, and no source of theirs defines.
``launched`` is there where recordings of programs were given: kernels that the specs have and programs launched.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from candle_wiring.judge import Ask, Missing, Wiring
from conformance.outcome import Launched
from conformance.record.launched import LaunchedBy
from conformance.spec.load import Specs

_SHOWN = 3  # places of evidence per line of the text


Absent = Mapping[str, Sequence[Ask]]
"""What is asked for and a port does not define, by name."""


def as_json(
    wiring: Wiring, specs: Specs, absent: Absent | None = None, launched: LaunchedBy | None = None
) -> dict[str, object]:
    """The wiring as JSON data; the head of this module describes it."""
    in_port = [{"name": name, "asked_at": _places(asks)} for name, asks in (absent or {}).items()]
    return {
        "schema": 1,
        "candle": str(wiring.candle),
        "backend": wiring.backend,
        "upstream_commit": specs.upstream_commit,
        "summary": summary(wiring),
        "kernels": [
            {
                "name": name,
                "module": specs.kernels[name].module,
                "upstream": specs.kernels[name].upstream,
                "wired": bool(asks),
                "wired_at": wiring.wired_at(name),
                "not_told": list(wiring.not_told.get(name, ())),
                "asks": [_ask(ask) for ask in asks],
            }
            for name, asks in wiring.kernels.items()
        ],
        "missing": [
            {"name": one.name, "near": one.near, "asked_at": _places(one.asks), "asks": [_ask(a) for a in one.asks]}
            for one in wiring.missing
        ],
        "beyond": [
            {"name": one.name, "defined_at": one.defined_at, "asked_at": _places(one.asks)} for one in wiring.beyond
        ],
        "unresolved": [
            {"at": one.at, "pattern": one.pattern, "why": one.why, "module": one.module} for one in wiring.unresolved
        ],
        "partial": list(wiring.partial),
        **({} if absent is None else {"missing_in_port": in_port}),
        **({} if launched is None else {"launched": _launched_rows(launched, specs)}),
    }


def _launched_rows(launched: LaunchedBy, specs: Specs) -> list[dict[str, object]]:
    return [{"name": name, "by": [asdict(one) for one in launched[name]]} for name in specs.kernels if name in launched]


def summary(wiring: Wiring) -> dict[str, int]:
    """The counts: kernels of the specs, wired ones, never asked for, and unknown; missing names, kernels beyond
    Candle's, and loads that are not resolved."""
    wired = sum(bool(asks) for asks in wiring.kernels.values())
    return {
        "total": len(wiring.kernels),
        "wired": wired,
        "never_asked": len(wiring.kernels) - wired - len(wiring.not_told),
        "not_told": len(wiring.not_told),
        "missing": len(wiring.missing),
        "beyond": len(wiring.beyond),
        "unresolved": len(wiring.unresolved),
    }


def as_text(
    wiring: Wiring, specs: Specs, absent: Absent | None = None, launched: LaunchedBy | None = None
) -> Iterator[str]:
    """The lines of the text report: the counts, then each kernel and name with its evidence.

    The evidence is where the Rust code asks for it and, if recordings were given, how often programs launched it.
    """
    counts = summary(wiring)
    yield f"{wiring.candle}, {wiring.backend}: {counts['total']} kernels of the specs"
    yield f"  wired                  {counts['wired']}"
    yield f"  never asked for        {counts['never_asked']}"
    yield f"  not told               {counts['not_told']}"
    yield f"  asked for but missing  {counts['missing']}"
    yield f"  beyond Candle's        {counts['beyond']}"
    yield f"  not resolved           {counts['unresolved']}"
    mine = {name: by for name, by in (launched or {}).items() if name in wiring.kernels}
    if launched is not None:
        yield f"  launched by a program  {len(mine)}"
    if absent is not None:
        yield f"  missing in this port   {len(absent)}"
        yield from _section(
            "asked for, missing in this port", [f"{name}  {_shown(asks)}" for name, asks in absent.items()]
        )
    if launched is not None:
        unasked = [f"{name}  {_launched(by)}" for name, by in mine.items() if not wiring.kernels[name]]
        yield from _section("launched by a program, and not seen to be asked for", unasked)
    wired = [
        f"{name}  {_shown(asks)}{f'; {_launched(mine[name])}' if name in mine else ''}"
        for name, asks in wiring.kernels.items()
        if asks
    ]
    yield from _section("wired", wired)
    yield from _section(
        "never asked for",
        [
            f"{name}  {specs.kernels[name].upstream}"
            for name, asks in wiring.kernels.items()
            if not asks and name not in wiring.not_told
        ],
    )
    yield from _section(
        "not told: unresolved loads may ask for it",
        [f"{name}  {', '.join(places[:_SHOWN])}" for name, places in wiring.not_told.items()],
    )
    yield from _section("asked for but missing", [_missing(one) for one in wiring.missing])
    yield from _section(
        "asked for, beyond Candle's kernels",
        [f"{one.name}  {_shown(one.asks)}  (defined at {one.defined_at})" for one in wiring.beyond],
    )
    yield from _section("not resolved", [f"{one.at}  {one.pattern}: {one.why}" for one in wiring.unresolved])
    yield from _section("not read by the parser, without loads", wiring.partial)


def _section(title: str, rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"{title}: {len(rows)}"
        yield from (f"  {row}" for row in rows)


def _missing(one: Missing) -> str:
    near = f"  (the kernel is {one.near})" if one.near else ""
    return f"{one.name}  {_shown(one.asks)}{near}"


def _launched(by: Sequence[Launched]) -> str:
    return "launched " + ", ".join(f"{one.launches:,} times by {one.program}" for one in by)


def _shown(asks: Sequence[Ask]) -> str:
    places = _places(asks)
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    patterns = sorted({ask.pattern for ask in asks if ask.pattern})
    through = f" as {', '.join(patterns)}" if patterns else ""
    return ", ".join(itertools.islice(places, _SHOWN)) + more + through


def _places(asks: Sequence[Ask]) -> list[str]:
    return list(dict.fromkeys(place for ask in asks for place in ask.asked_at))


def _ask(ask: Ask) -> dict[str, object]:
    return {"at": ask.at, "spelled": list(ask.spelled), "callers": list(ask.callers), "pattern": ask.pattern}
