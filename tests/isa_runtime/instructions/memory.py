"""Loads, stores and atomic operations, many in one launch: what they leave in registers and memory.

Each lane has a row of memory to itself, of the kind of memory that the instructions access.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.isa_runtime.code import code_object
from tests.isa_runtime.instructions.vector import LANES, Array
from tests.isa_runtime.instructions.words import OLD, ONE, ZERO, Target, v
from tests.isa_runtime.machine import Machine

Words = NDArray[np.uint32]
SPACES = ("GLOBAL", "FLAT", "SCRATCH", "DS", "MUBUF")
ROW = 64
"""Bytes of a lane's row."""
IN, SECOND, TO, FILL, RESOURCE = 8, 10, 12, 16, 20
"""Scalar registers: the addresses of the rows' content, of data and of results; ``OLD``; the content as a buffer."""
OUT, ADDRESS, POINTER, START, FROM = 1, 3, 4, 6, 7
"""Vector registers: the results' offset; the lane's address, 0 or 16 bytes into its row, and that as a generic pointer;
where the row begins, in its memory and in global memory."""
DATA, GOT, MOVED, CONTENT, BOTH = 8, 16, 20, 24, 28
"""Vector registers of data, results, what is copied, what a row begins with, and data that becomes a result."""
LANE = np.arange(LANES)


def prefix(space: str) -> str:
    """What mnemonics begin with."""
    return "buffer" if space == "MUBUF" else space.lower()


@dataclass(frozen=True)
class Transfer:
    """A load or store: its spellings without what is before the last part, the type in memory, how many of them.

    ``high`` is for the upper half of the register, ``low`` for the lower one alone.
    """

    names: str
    kind: Any
    count: int = 1
    half: str = ""

    def spelled(self, space: str, action: str) -> list[str]:
        """The mnemonics; LDS has other words for the actions."""
        if space != "DS":
            return [f"{prefix(space)}_{action}_{name}" for name in self.names.split()]
        actions = {"load": ("load", "read"), "store": ("store", "write")}[action]
        bits = 8 * np.dtype(self.kind).itemsize * self.count
        sign = "i" if np.dtype(self.kind).kind == "i" else "u"
        part = f"{'b' if bits >= 32 or action == 'store' else sign}{bits}"
        suffix = {"": "", "low": "_d16", "high": "_d16_hi"}[self.half]
        return [f"ds_{action}_{part}{suffix}" for action in actions]


U8, I8, U16, I16, U32 = np.uint8, np.int8, np.uint16, np.int16, np.uint32
WHOLE = (
    Transfer("dword b32", U32),
    Transfer("dwordx2 b64", U32, 2),
    Transfer("dwordx3 b96", U32, 3),
    Transfer("dwordx4 b128", U32, 4),
)
LOADS = (
    *WHOLE,
    Transfer("ubyte u8", U8),
    Transfer("sbyte i8", I8),
    Transfer("ushort u16", U16),
    Transfer("sshort i16", I16),
    Transfer("ubyte_d16 d16_u8", U8, 1, "low"),
    Transfer("sbyte_d16 d16_i8", I8, 1, "low"),
    Transfer("short_d16 d16_b16", U16, 1, "low"),
    Transfer("ubyte_d16_hi d16_hi_u8", U8, 1, "high"),
    Transfer("sbyte_d16_hi d16_hi_i8", I8, 1, "high"),
    Transfer("short_d16_hi d16_hi_b16", U16, 1, "high"),
)
STORES = (
    *WHOLE,
    Transfer("byte b8", U8),
    Transfer("short b16", U16),
    Transfer("byte_d16_hi d16_hi_b8", U8, 1, "high"),
    Transfer("short_d16_hi d16_hi_b16", U16, 1, "high"),
)


@dataclass(frozen=True)
class Atomic:
    """An atomic operation: its spellings behind ``atomic_`` and in LDS behind ``ds_``, and what becomes of memory.

    ``function`` takes what is in memory, the operand, and what a comparing swap expects.
    """

    names: str
    lds: str
    kind: Any
    function: Callable[[Array, Array, Array], Array]

    def spelled(self, space: str) -> list[str]:
        if space != "DS":
            return [f"{prefix(space)}_atomic_{name}" for name in self.names.split()]
        found = []
        for name in self.lds.split():
            operation, _, kind = name.rpartition("_")
            found += [f"ds_{name}", f"ds_{operation}_rtn_{kind}"]
        return found


def transfers(target: Target, space: str, action: str) -> list[tuple[str, Transfer]]:
    rows = {"load": LOADS, "store": STORES}[action]
    found = [(name, row) for row in rows for name in row.spelled(space, action) if target.has(space, name)]
    return [(name, row) for name, row in dict(found).items()]


def offset_of(target: Target, space: str) -> int:
    """The constant of the instructions, which a generic access of RDNA 2 does not have."""
    return 0 if space == "FLAT" and target.generation == 10 else 16


def plain(target: Target, space: str, action: str, register: int, address: int, offset: int = 0) -> list[int]:
    """Loads or stores four words."""
    kind = "GLOBAL" if space in ("FLAT", "MUBUF") else space
    name = next(name for name, row in transfers(target, kind, action) if row is WHOLE[3])
    if kind == "DS":
        lds_data: dict[str, Any] = {"data": (register,)} if action == "store" else {"to": register}
        return target.lds(name, address=address, offset=offset, **lds_data)
    data = {"data" if action == "store" else "to": register}
    return target.memory(kind, name, address=address, base=IN if kind == "GLOBAL" else None, offset=offset, **data)


def copied(target: Target, space: str, parts: Sequence[int], register: int | None = None) -> list[int]:
    """Fills parts of 16 bytes of the row with its content, or with a register's."""
    words = []
    for part in parts:
        if register is None:
            words += [*plain(target, "GLOBAL", "load", MOVED, FROM, 16 * part), *target.wait()]
        words += plain(target, space, "store", MOVED if register is None else register, START, 16 * part)
        words += [*target.wait(), *target.settle()]
    return words


def result(target: Target, register: int) -> list[int]:
    """Stores four words for each lane behind those of before."""
    store = next(name for name, row in transfers(target, "GLOBAL", "store") if row is WHOLE[3])
    words = target.memory("GLOBAL", store, data=register, address=OUT, base=TO)
    return [*words, *target.settle(), *target.add(OUT, 16 * LANES)]


def filled(target: Target, register: int, count: int) -> list[int]:
    return [word for n in range(count) for word in target.vector(register + n, FILL)]


def launched(
    machine: Machine, target: Target, space: str, words: list[int], content: Words, data: Words, results: int
) -> Words:
    """What ``words`` store, by 16 bytes of each lane, after what sets up the registers that they use."""
    head = [*target.scalar_load("s_load_b256" if target.generation > 10 else "s_load_dwordx8", IN, 0)]
    head += [*target.scalar(FILL, OLD), *target.shifted(OUT, 4, 0), *target.shifted(FROM, 6, 0), *target.wait()]
    head += target.vector(START, ZERO) if space == "SCRATCH" else target.shifted(START, 6, 0)
    head += target.vop2(ADDRESS, ONE, 0, names=("v_and_b32",)) + target.shifted(ADDRESS, 4, ADDRESS)
    head += target.vop2(ADDRESS, v(START), ADDRESS, names=("v_add_nc_u32", "v_add_u32"))
    pointer = "v_mad_co_u64_u32" if target.generation == 12 else "v_mad_u64_u32"
    head += target.vop3(pointer, v(ADDRESS), ONE, IN, out=POINTER, modifiers=20)
    head += [*target.sop1("s_mov_b32", RESOURCE, IN), *target.sop1("s_mov_b32", RESOURCE + 1, IN + 1)]
    head += [*target.scalar(RESOURCE + 2, ROW * LANES), *target.scalar(RESOURCE + 3, target.raw)]
    load = next(name for name, row in transfers(target, "GLOBAL", "load") if row is WHOLE[3])
    head += target.memory("GLOBAL", load, to=DATA, address=OUT, base=SECOND)
    head += [*plain(target, "GLOBAL", "load", CONTENT, FROM), *target.wait(), *target.settle()]
    sizes = {"lds": ROW * LANES if space == "DS" else 0, "scratch": ROW if space == "SCRATCH" else 0}
    file = code_object([*head, *words, *target.wait(), *target.end()], target=target.name, wave=target.wave, **sizes)
    out = np.zeros((results, LANES, 4), np.uint32)
    failed, message, after = machine.launch(file, content, data, out, np.zeros(1, np.uint64), block=LANES)
    assert failed == 0, f"{target.name}: {message}"
    return after[2]


def access(target: Target, space: str, name: str, **registers: Any) -> list[int]:
    """The instruction, at the lane's address and a constant offset."""
    if space == "DS":
        return target.lds(name, address=ADDRESS, offset=16, **registers)
    if space == "MUBUF":
        data = registers.get("data", registers.get("to", 0))
        return target.buffer(
            name, data, RESOURCE, offsets=ADDRESS, offset=16, returns=bool(registers.get("returns", False))
        )
    base = IN if space == "GLOBAL" else None
    address = POINTER if space == "FLAT" else ADDRESS
    return target.memory(space, name, address=address, base=base, offset=offset_of(target, space), **registers)


def loaded(machine: Machine, target: Target, space: str, content: Words) -> dict[str, tuple[Transfer, Words]]:
    """Four registers of each lane after every load."""
    rows = transfers(target, space, "load")
    words = copied(target, space, range(4)) if space in ("DS", "SCRATCH") else []
    for name, _ in rows:
        words += [*filled(target, GOT, 4), *access(target, space, name, to=GOT), *target.wait(), *result(target, GOT)]
    after = launched(machine, target, space, words, content, np.zeros((LANES, 4), np.uint32), len(rows))
    return {name: (row, got) for (name, row), got in zip(rows, after, strict=True)}


def stored(machine: Machine, target: Target, space: str, data: Words) -> dict[str, tuple[Transfer, Words]]:
    """The row of each lane, which was ``OLD``, after every store."""
    rows = transfers(target, space, "store")
    words = filled(target, GOT, 4)
    for name, _ in rows:
        words += copied(target, space, range(4), GOT)
        words += access(target, space, name, data=(DATA,) if space == "DS" else DATA)
        for part in range(4):
            words += [*target.wait(), *plain(target, space, "load", MOVED, START, 16 * part), *target.wait()]
            words += result(target, MOVED)
    content = np.zeros((LANES, 16), np.uint32)
    after = launched(machine, target, space, words, content, data, 4 * len(rows))
    by_lane = after.reshape(len(rows), 4, LANES, 4).swapaxes(1, 2).reshape(len(rows), LANES, 16)
    return {name: (row, got) for (name, row), got in zip(rows, by_lane, strict=True)}


def changed(
    machine: Machine,
    target: Target,
    space: str,
    rows: list[tuple[str, Atomic]],
    returns: bool,
    content: Words,
    data: Words,
) -> list[Words]:
    """Of each operation, by lane: two registers that it may return into, and two words of memory after it."""
    words = []
    for name, row in rows:
        words += [*copied(target, space, (0, 1, 2), CONTENT), *filled(target, GOT, 2)]
        first, second = data_registers(name, row)
        if space == "DS":
            words += target.lds(name, to=GOT, address=ADDRESS, data=(first, second), offset=16)
        elif space == "MUBUF":  # what returns is where the data was
            for n in range(4):
                words += target.vector(BOTH + n, v(DATA + n))
            words += [*access(target, space, name, data=BOTH, returns=returns), *target.wait()]
            returned = np.dtype(row.kind).itemsize // 4 if returns else 0
            words += [word for n in range(returned) for word in target.vector(GOT + n, v(BOTH + n))]
        else:
            words += access(target, space, name, to=GOT, data=first, returns=returns)
        words += [*target.wait(), *target.settle()]
        words += [
            *plain(target, space, "load", GOT + 2, ADDRESS, offset_of(target, space)),
            *target.wait(),
            *result(target, GOT),
        ]
    return list(launched(machine, target, space, words, content, data, len(rows)))


def data_registers(name: str, row: Atomic) -> tuple[int, int]:
    """In LDS a comparing swap had what it expects first before RDNA 3; it is last since, and elsewhere."""
    size = np.dtype(row.kind).itemsize // 4
    return (DATA + size, DATA) if "_cmpst_" in name else (DATA, DATA + size)
