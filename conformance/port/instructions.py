"""Where the instructions of AMD machine code begin, from the bytes alone: no disassembler is needed.

An instruction's first word tells its encoding, and with its operands its length. The encodings are those of AMD's
instruction set manuals for Vega, CDNA and RDNA 1 to 4.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping

_LITERAL = 255
_SDWA, _DPP16 = 249, 250
_DPP8 = (233, 234)
_SOP1, _SOPC, _SOPP = 0x17D, 0x17E, 0x17F

_VOP2_WITH_CONSTANT: Mapping[int, tuple[int, ...]] = {
    9: (0x17, 0x18, 0x24, 0x25),
    10: (0x20, 0x21, 0x2C, 0x2D, 0x37, 0x38),
    11: (0x2C, 0x2D, 0x37, 0x38),
    12: (0x2C, 0x2D, 0x37, 0x38),
}
"""The opcodes of v_madmk, v_madak, v_fmamk and v_fmaak."""

_SETREG_IMM = {9: 0x14, 10: 0x15, 11: 0x13, 12: 0x13}
_SOP2_WITH_CONSTANT = (69, 70)
"""s_fmaak_f32 and s_fmamk_f32, of gfx11.5 and gfx12."""

_Length = int | Callable[[int, int], int]
"""Words, or how many by the first two of them."""


def generation(processor: str) -> int | None:
    """The generation of an AMD GPU: 9, 10, 11 or 12 for ``gfx942``, ``gfx1030`` or ``gfx12-generic``; ``None`` for
    others."""
    name = processor.partition(":")[0].removeprefix("gfx")
    major = name.partition("-")[0] if "-" in name else name[:-2]
    return int(major) if major in ("9", "10", "11", "12") else None


def instructions(code: bytes, gen: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The instructions of ``code``, which begins with one: the offset of each in bytes, and its words of 32 bits.

    An encoding that the generation ``gen`` does not have counts as one word.
    """
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    place = 0
    while place < len(words):
        second = words[place + 1] if place + 1 < len(words) else 0
        length = _length(words[place], second, gen)
        yield 4 * place, words[place : place + length]
        place += length


def _length(word: int, second: int, gen: int) -> int:
    """The number of words of the instruction that begins with ``word`` and ``second``."""
    if word >> 31 == 0:
        return _vector(word, gen)
    if word >> 30 == 2:
        return _scalar(word, gen)
    length = _ENCODINGS[gen].get(word >> 26, 1)
    return length if isinstance(length, int) else length(word, second)


def _vector(word: int, gen: int) -> int:
    """VOP1, VOP2 and VOPC."""
    opcode, source = word >> 25 & 0x3F, word & 0x1FF
    more = source in (_LITERAL, _DPP16) or (gen < 11 and source == _SDWA) or (gen > 9 and source in _DPP8)
    return 2 if more or opcode in _VOP2_WITH_CONSTANT[gen] else 1


def _scalar(word: int, gen: int) -> int:
    """SOP1, SOPC, SOPP, SOPK and SOP2."""
    first, second = word & 0xFF, word >> 8 & 0xFF
    kind = word >> 23
    if kind == _SOPP:
        return 1
    if kind == _SOP1:
        return 2 if first == _LITERAL else 1
    if kind == _SOPC:
        return 2 if _LITERAL in (first, second) else 1
    if word >> 28 == 0xB:
        return 2 if (word >> 23 & 0x1F) == _SETREG_IMM[gen] else 1
    constant = gen > 10 and (word >> 23 & 0x7F) in _SOP2_WITH_CONSTANT
    return 2 if constant or _LITERAL in (first, second) else 1


def _vop3(word: int, second: int) -> int:
    """VOP3 of RDNA, which may end with a constant or a DPP control."""
    sources = (second & 0x1FF, second >> 9 & 0x1FF, second >> 18 & 0x1FF)
    return 3 if _LITERAL in sources or sources[0] in (_DPP16, *_DPP8) else 2


def _vop3p(word: int, second: int) -> int:
    """VOP3P, and what shares its first six bits on RDNA 3 and 4: VINTERP, and the LDS loads of pixel shaders."""
    kind = word >> 24
    return 1 if kind == 0xCE else 2 if kind == 0xCD else _vop3(word, second)


def _vopd(word: int, second: int) -> int:
    """Two operations at once; fmaak (1) and fmamk (2) take a constant."""
    constant = (word >> 22 & 0xF) in (1, 2) or (word >> 17 & 0x1F) in (1, 2)
    return 3 if constant or _LITERAL in (word & 0x1FF, second & 0x1FF) else 2


def _mimg(word: int, _second: int) -> int:
    """Images of RDNA 1 and 2, with up to three words of addresses."""
    return 2 + (word >> 1 & 3)


def _mimg11(word: int, _second: int) -> int:
    """Images of RDNA 3, with a word of addresses where bit 0 says so."""
    return 2 + (word & 1)


_ENCODINGS: Mapping[int, Mapping[int, _Length]] = {
    9: dict.fromkeys((0x30, 0x31, 0x34, 0x36, 0x37, 0x38, 0x3A, 0x3C), 2),
    10: {0x33: _vop3, 0x35: _vop3, 0x36: 2, 0x37: 2, 0x38: 2, 0x3A: 2, 0x3C: _mimg, 0x3D: 2, 0x3E: 2},
    11: {0x32: _vopd, 0x33: _vop3p, 0x35: _vop3, 0x36: 2, 0x37: 2, 0x38: 2, 0x3A: 2, 0x3C: _mimg11, 0x3D: 2, 0x3E: 2},
    12: {0x31: 3, 0x32: _vopd, 0x33: _vop3p, 0x34: 3, 0x35: _vop3, 0x36: 2, 0x39: 3, 0x3B: 3, 0x3D: 2, 0x3E: 2},
}
"""By the first six bits of an instruction that is neither VOP1, VOP2, VOPC nor scalar; others are of one word."""
