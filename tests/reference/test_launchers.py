"""The reference of Candle's linked launchers on trial: every recorded call of all 49."""

from __future__ import annotations

import pytest
import recorded_calls

CALLS = {"mmvq": (33, 198), "mmq": (13, 75), "moe": (3, 108)}


@pytest.mark.slow("every recorded call of a launcher by the reference")
@pytest.mark.parametrize("module", CALLS)
def test_every_recorded_call_is_what_the_reference_allows(module: str) -> None:
    calls = recorded_calls.calls(module)
    assert (len({call.name for call in calls}), len(calls)) == CALLS[module]
    assert [call.id for call in calls if call.wrong(call.answer)] == []


@pytest.mark.parametrize("module", CALLS)
def test_what_is_as_good_is_not_needed_for_what_an_h100_answers(module: str) -> None:
    assert [call.id for call in recorded_calls.calls(module) if call.wrong(call.answer, others=False)] == []
