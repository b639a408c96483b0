"""Which functions to run: those that load kernels, and those that determine what the names depend on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from conformance.upstream.wiring.index import Index
from conformance.upstream.wiring.items import Function
from conformance.upstream.wiring.machine import Context, Machine


def live_functions(index: Index, functions: Sequence[Function], loads: frozenset[str]) -> list[Function]:
    """The functions to run on their own.

    A function needs its callers when a name in it is not known without them: it is tried once with nothing known of
    its parameters. The callers of such functions are taken in, and tried in their turn.
    """
    words = {name: frozenset().union(*(_words(node) for _, node, _ in known)) for name, known in index.macros.items()}
    called = set(loads)  # without what stands before the name in a call
    wanted = {sign + name for name in loads for sign in ("", ".", "::")}
    probe = Machine(index, loads, [], probing=True)
    live: dict[int, Function] = {}
    while True:
        while macros := {name for name, inside in words.items() if name not in called and inside & called}:
            called |= macros
            wanted |= {sign + name for name in macros for sign in ("", "::")}
        added = [one for one in functions if id(one) not in live and one.calls & wanted]
        if not added:
            return list(live.values())
        for one in added:
            live[id(one)] = one
            if _needs_callers(probe, one):
                probe.contexts[id(one)] = {Context(): None}
                wanted |= one.called_as
                called.add(one.name)
            if one.owner is not None and one.owner.type is not None:
                wanted |= {one.owner.type.name} & index.structs_with_text


def loaders(machine: Machine, index: Index) -> frozenset[str]:
    """The functions that hand a text of their caller on to a load, by name, where no other function is called so."""
    names = {function.name for function in machine.live if machine.hands_on(function)}
    return frozenset(
        name
        for name in names
        if all(machine.hands_on(one) or id(one) in index.foreign for one in index.functions[name])
    )


def _needs_callers(probe: Machine, function: Function) -> bool:
    generic = bool(function.generics or (function.owner is not None and function.owner.generics))
    texts = any(probe.tells_names(kind, enums=False) for _, kind in function.params)
    # The dtypes that an open function is called with are not all seen, so that its callers say nothing of them.
    enums = not function.open and any(probe.tells_names(kind, enums=True) for _, kind in function.params)
    if not (generic or texts or enums):
        return False
    probe.doubtful = False
    loading = probe.try_out(function)
    return probe.doubtful or (enums and loading)


def _words(node: Node) -> frozenset[str]:
    return frozenset(word.decode() for word in re.findall(rb"[A-Za-z_]\w*", node.text or b""))
