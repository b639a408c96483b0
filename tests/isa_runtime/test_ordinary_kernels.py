"""What kernels of anyone's do, compiled for a target of every generation: shared memory below a base, arrays that are
indexed, printf, malloc."""

from __future__ import annotations

import numpy as np
import pytest

from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_target_functions import compiled

PRINTED = {
    3: "lane  3: a text that is longer of -3%,  0.75 x|yz  |123456789abc\n",
    5: "lane  5: short of -5%,  1.25 x|yz  |123456789abc\n",
}


@pytest.mark.slow("compiles for AMD targets and interprets the code")
@pytest.mark.parametrize("target", ["gfx942", "gfx90a", "gfx1030", "gfx1100", "gfx1201"])
def test_an_ordinary_kernel_runs(machine: Machine, capfd: pytest.CaptureFixture[str], target: str) -> None:
    lane = np.arange(64)
    given, indices = lane.astype(np.float32) / 4, np.array([2, 7, 9], np.int32)
    mine = Machine(machine.folder)  # whose output is this test's
    try:
        code = compiled("ordinary.hip", target)
        failed, message, after = mine.launch(code, given, indices, np.zeros(192, np.float32))
    finally:
        mine.close()
    assert failed == 0, message
    shared, array, rest = after[2].reshape(3, 64)
    both = np.concatenate([given, given])
    assert np.array_equal(shared, sum(both[lane - 2 + far] for far in (16, 20, 24)))
    assert np.array_equal(array, given[(lane + 9) % 64] + given[(lane + 7) % 64] + 1)
    assert {n: int(rest[n]) for n in (3, 5)} == {n: len(PRINTED[n]) + 1000 * n - 1 for n in (3, 5)}
    assert capfd.readouterr().out == PRINTED[3] + PRINTED[5]
