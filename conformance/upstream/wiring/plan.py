"""Which functions to run: those that load kernels, and those that determine what the names depend on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from conformance.upstream.wiring.index import Index
from conformance.upstream.wiring.items import Function, Type
from conformance.upstream.wiring.machine import Context, Machine


def live_functions(index: Index, functions: Sequence[Function], loads: frozenset[str]) -> list[Function]:
    """The functions to run on their own.

    A function needs its callers when a name in it is not known without them: it is tried once with nothing known of
    its parameters. The callers of such functions are taken in, and tried in their turn.
    """
    macros = {name for name, known in index.macros.items() if any(loads & _words(node) for _, node, _ in known)}
    wanted = {sign + name for name in (*loads, *macros) for sign in ("", ".", "::")}
    structs = _texts_in_fields(index)
    probe = Machine(index, loads, [], probing=True)
    live: dict[int, Function] = {}
    while True:
        added = [one for one in functions if id(one) not in live and one.calls & wanted]
        if not added:
            return list(live.values())
        for one in added:
            live[id(one)] = one
            if _needs_callers(probe, one, index):
                probe.contexts[id(one)] = {Context(): None}
                wanted |= one.called_as
            if one.owner is not None and one.owner.type is not None:
                wanted |= {one.owner.type.name} & structs


def _needs_callers(probe: Machine, function: Function, index: Index) -> bool:
    generics = {**function.generics, **(function.owner.generics if function.owner else {})}
    generic = any(index.implementers(traits) for traits in generics.values())
    texts = any(probe.tells_names(kind, enums=False) for _, kind in function.params)
    # The dtypes that an open function is called with are not all seen, so that its callers say nothing of them.
    enums = not function.open and any(probe.tells_names(kind, enums=True) for _, kind in function.params)
    if not (generic or texts or enums):
        return False
    probe.doubtful = False
    loading = probe.try_out(function)
    return probe.doubtful or (enums and loading)


def _texts_in_fields(index: Index) -> set[str]:
    """The structs with a field that is text."""

    def is_text(kind: Type | None) -> bool:
        return kind is not None and kind.name in ("str", "String")

    return {
        name for name, known in index.structs.items() if any(any(map(is_text, one.fields.values())) for one in known)
    }


def _words(node: Node) -> set[str]:
    return {word.decode() for word in re.findall(rb"[A-Za-z_]\w*", node.text or b"")}
