"""The text and the JSON of a comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.record import write_record
from conformance.record.compare import compare
from conformance.report.comparison import WIDTH, comparison_json, render_comparison
from conformance.spec.entry import OWN, ROWS, Entry
from tests.commands import answer
from tests.record.made import record, row
from tests.report.hostile import TEXTS

OLD = record(
    row("gone_f32", "pass"),
    row("worse_f32", "pass"),
    row("known_f32", "pass"),
    row("new_f32", "missing"),
    row("better_f32", "fail", [f"shape=[{n},4096],layout=transposed,values=special" for n in range(9)]),
    row("far_f32", "pass", max_ulp=1.0, seconds=0.5),
    row("idle_f32", "pass"),
    *(row(f"none_{n}_f32", "not_run") for n in range(20)),
)
NEW = record(
    row("gone_f32", "missing"),
    row("worse_f32", "fail", ["n=1", "n=2"]),
    row("known_f32", "crash", ["n=1"], known_reason="the device library differs"),
    row("new_f32", "fail", ["n=1"]),
    row("better_f32", "pass"),
    row("far_f32", "pass", max_ulp=3.0, seconds=2.5),
    row("idle_f32", "not_run"),
    *(row(f"none_{n}_f32", "not_run") for n in range(20)),
    runtime="rocm",
    device="AMD Instinct MI300X",
    arch="gfx942",
)


def test_every_kind_of_change_has_its_section() -> None:
    text = render_comparison(compare(OLD, NEW), "old.json", "a/very/long/path/" * 8 + "new.json")
    assert max(map(len, text.splitlines())) <= WIDTH
    for lines in (
        "they differ in: runtime, device, architecture",
        "6 kernels compared: 1 the same, 2 better (1 of them new), 2 worse (1 of them gone), 1 worse and\n  declared",
        "gone: sources define these no more (1)\n  gone_f32: pass -> missing",
        "newly failing, or further from parity (1)\n  worse_f32: pass -> fail, 2 newly failing cases\n"
        "    worse_f32(n=1)\n    worse_f32(n=2)",
        "worse, and declared by the port (1)\n  known_f32: pass -> crash, 1 newly failing cases, the device library",
        "newly passing, or closer to parity (1)\n  better_f32: fail -> pass, 9 newly passing cases",
        "    and 6 cases more",
        "new: sources define these now (1)\n  new_f32: missing -> fail",
        "not compared (1)\n  1 not selected in the new record: idle_f32",
        "largest error of kernels that pass in both, within their bounds (1)\n  far_f32: 1 ulp -> 3 ulp",
        "kernels that took over 2 times as long (1)\n  far_f32: 0.50 s -> 2.50 s",
    ):
        assert lines in text


def test_the_json_has_every_change_and_what_was_not_compared() -> None:
    data = json.loads(comparison_json(compare(OLD, NEW), "old.json", "new.json"))
    kinds = {one["kernel"]: one["kind"] for name in ("worse", "better") for one in data[name]}
    assert kinds == {"gone_f32": "gone", "worse_f32": "changed", "new_f32": "new", "better_f32": "changed"}
    assert [one["kernel"] for one in data["declared"]] == ["known_f32"]
    assert (data["schema"], data["compared"], data["same"]) == (1, 6, 1)
    assert data["not_compared"]["not selected in the new record"] == ["idle_f32"]
    assert len(data["worse"][1]["newly_failing"]) == 2


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_a_record_says_stays_on_its_line(text: str) -> None:
    old = record(row(f"{text}a", "pass"), row(f"{text}b", "fail", [text]), row("c", "pass"), device=text)
    new = record(row(f"{text}a", "not_run"), row(f"{text}b", "pass"), row("c", "fail", [text], known_reason=text))
    found = render_comparison(compare(old, new), text, "new")
    assert not any(sign in found for sign in "\x1b\x9b\x08\r\u2028\x85\u202e")
    begun = [line.split()[0] for line in found.splitlines() if line and not line.startswith(" ")]
    assert begun == ["old:", "new:", "2", "worse,", "newly", "not", "cost:"]


@pytest.mark.parametrize("entry", OWN)
def test_what_is_the_ports_own_is_compared_too(entry: Entry, tmp_path: Path, capsys) -> None:
    """Where the records have a verdict on nothing else."""
    idle = record(row("idle_f32", "not_run"))
    for name, status in (("old", "pass"), ("new", "fail")):
        write_record(idle.with_parts({entry: [row("mine_f32", status, ["n=1"] * (status == "fail"))]}), tmp_path / name)
    words = ("diff", tmp_path / "old", tmp_path / "new")
    assert answer(capsys, *words).code == 0
    said = answer(capsys, *words, "--fail-on-worse", "--json", tmp_path / "told.json")
    assert said.code == 1
    assert f"1 {ROWS[entry].noun} compared: 0 the same, 0 better (0 of them new), 1 worse" in said.out
    told = json.loads((tmp_path / "told.json").read_text())
    assert [change["kernel"] for change in told[ROWS[entry].part]["worse"]] == ["mine_f32"]
    assert [part for part in ("own", "own_launchers") if part in told] == [ROWS[entry].part]
