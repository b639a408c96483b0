"""What the documents' pseudocode means, by programs of our own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.isa_runtime.documents.functions import bits_of
from tests.isa_runtime.documents.statements import function
from tests.isa_runtime.documents.tokens import Unreadable

ONE, HALF_NAN = 0x3F800000, 0x7C01
PROGRAMS = {
    "D0.u32 = S0.u32 + S1.u32": ((0xFFFFFFFF, 2), 1),
    "D0.i32 = S0.i32 < S1.i32 ? -S0.i32 : S1.i32 >> 1": ((0xFFFFFFFF, 3), 1),
    "D0.u32 = 8'0xff | S0[15 : 8].u8 << 8U": ((0x1200, 0), 0x12FF),
    "D0.u32[7 : 0] = S0.u32[0 : 7]; D0.u32[S1.u32[4 : 0]] = 1'1U": ((0b1011, 9), 0b11010000 | 1 << 9),
    "D0.f32 = S0.f32 + 0.5F": ((ONE, 0), bits_of(np.float32(1.5))),
    "D0.f64 = 64'F(S0.f32) * 3.0": ((ONE, 0), bits_of(np.float64(3))),
    "D0.u32 = isSignalNAN(64'F(S0.f16)) ? 1 : 0": ((HALF_NAN, 0), 1),
    "D0.f32 = !(S0.f32 <> S1.f32) ? 32'F(0xffc00000) : -INF.f32": ((0x7FC00000, ONE), 0xFFC00000),
    "tmp = -1; for i in 0 : 31 do if S0.u32[i] == 1'1U then tmp = i; break endif endfor; D0.i32 = tmp": ((0x50, 0), 4),
    "if S0.u32 == 1 then D0 = 5 elsif S0.u32 > 1 then D0 = 6 // or more\nelse D0 = 7 endif": ((3, 0), 6),
    "F = lambda(x, y) ( x > y ? x - y : y - x ); D0.u32 = F(S0.u32, S1.u32)": ((3, 10), 7),
    "F = lambda(x) ( if x == 0U then return 4 else return x endif ); D0.u32 = F(S0.u32)": ((0, 0), 4),
    "declare a : 32'I[2]; a[0] = S0.i32; a[1] = a[0] * 2; D0.i32 = a[1]": ((21, 0), 42),
    "{ D1.u1, D0.u32 } = 33'B(33'U(S0.u32) + 33'U(S1.u32)); D0 = { D1.u1, D0.u32 }": ((0xFFFFFFFF, 3), 0x100000002),
    "D0.u64[0] = EXEC.u64[0] = S0.u32 != 0U; D0 += 2": ((1, 0), 3),
}


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_computes(code: str) -> None:
    (first, second), expected = PROGRAMS[code]
    env = {"S0": first, "S1": second, "D0": 0, "EXEC": 0, "INF": np.float64(np.inf)}
    function(code)(env)
    assert bits_of(env["D0"]) & (1 << 64) - 1 == expected


@pytest.mark.parametrize(
    "code", ["D0 = MEM[S0]", "D0.u32 = nobody.u32", "D0 = (1 + 2", "D0 = 2 @ 3", "D0.f32 = 1201'B(2.0 / PI)"]
)
def test_what_it_does_not_understand_it_says(code: str) -> None:
    with pytest.raises(Unreadable):
        function(code)({"S0": 0, "PI": np.float64(np.pi)})
