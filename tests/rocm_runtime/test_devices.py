"""Which AMD GPUs are used, and what is said where HIP shows none."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from conformance.processes.supervisor import Finished
from conformance.runtimes.rocm import devices
from conformance.runtimes.rocm.control import shown_version
from conformance.runtimes.rocm.devices import AmdDevice, of_one_architecture, probe
from conformance.runtimes.rocm.search import Installation

LIBRARY = Installation("ROCM_PATH", Path("/some/rocm/lib/libamdhip64.so"), Path("/some/rocm/lib/libhiprtc.so"), None)


def device(ordinal: int, arch: str, units: int, integrated: bool = False) -> AmdDevice:
    return AmdDevice(ordinal, f"GPU {ordinal}", arch, 32, units, integrated)


@pytest.mark.parametrize(
    ("found", "used"),
    [
        ([], []),
        ([device(0, "gfx1100", 48)], [0]),
        ([device(0, "gfx1036", 1, True), device(1, "gfx1100", 48)], [1]),
        ([device(0, "gfx1151", 40, True)], [0]),
        ([device(0, "gfx1030", 40), device(1, "gfx1100", 48), device(2, "gfx1030", 40)], [0, 2]),
        ([device(0, "gfx942", 304), device(1, "gfx942", 304)], [0, 1]),
        ([device(0, "gfx90a:sramecc+:xnack-", 104), device(1, "gfx90a:sramecc+:xnack+", 104)], [0]),
    ],
    ids=["none", "one", "a card and an APU", "only an APU", "two of one kind", "all alike", "other features"],
)
def test_the_devices_of_one_architecture(found: list[AmdDevice], used: list[int]) -> None:
    taken, left_out = of_one_architecture(found)
    assert [one.ordinal for one in taken] == used
    assert sorted(one.ordinal for one in (*taken, *left_out)) == [one.ordinal for one in found]


@pytest.mark.parametrize(("number", "shown"), [(70253211, "7.2.53211"), (60443484, "6.4.43484")])
def test_hips_version_as_the_package_has_it(number: int, shown: str) -> None:
    assert shown_version(number) == shown


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty /dev, and no variable that hides devices."""
    monkeypatch.setattr(devices, "DEV", tmp_path)
    for name in devices.VISIBLE:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def amd_nodes(dev: Path) -> None:
    (dev / "dri").mkdir()
    for name in ("kfd", "dri/renderD128"):
        (dev / name).touch()


def test_no_kfd_is_a_driver_that_is_not_loaded_or_a_container_without_it(dev: Path) -> None:
    assert devices.cause("HIP shows no device") == (
        f"HIP shows no device; there is no {dev}/kfd: load the amdgpu driver, or start a container with "
        "--device=/dev/kfd --device=/dev/dri"
    )


def test_a_node_that_is_closed_to_the_user_names_the_group_to_join(dev: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    amd_nodes(dev)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "kfd")
    monkeypatch.setattr(devices, "_group", lambda number: "render")
    assert devices.cause("HIP shows no device") == (
        f"HIP shows no device; this user may not open {dev}/kfd: join the group render (usermod -aG render $USER, then "
        "log in again; in a container --group-add render)"
    )


def test_a_container_without_render_nodes_is_told(dev: Path) -> None:
    (dev / "kfd").touch()
    assert "start the container with --device=/dev/dri too" in devices.cause("HIP shows no device")


def test_a_variable_that_hides_devices_is_named(dev: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    amd_nodes(dev)
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "7")
    assert devices.cause("HIP shows no device").endswith(
        "; ROCR_VISIBLE_DEVICES=7 may hide all devices: unset it, or name devices that are there"
    )


def test_where_nothing_is_in_the_way_hips_own_words_stand_alone(dev: Path) -> None:
    amd_nodes(dev)
    assert devices.cause("HIP shows no device") == "HIP shows no device"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Finished(None, "", ""), "HIP did not answer within 60 s: a GPU or its driver hangs; see the kernel's log"),
        (Finished(-6, "", "first\nlast words\n"), "asking HIP for its devices ended with signal SIGABRT: last words"),
        (Finished(3, "", ""), "asking HIP for its devices ended with exit code 3: no message"),
    ],
    ids=["a wedged GPU", "an abort", "an exit"],
)
def test_a_process_that_does_not_answer_is_no_device_and_a_reason(
    dev: Path, monkeypatch: pytest.MonkeyPatch, answer: Finished, said: str
) -> None:
    amd_nodes(dev)
    monkeypatch.setattr(devices, "chosen", lambda: LIBRARY)
    monkeypatch.setattr(devices, "run_bounded", lambda *_: answer)
    assert (probe().devices, probe().why) == ((), said)


def test_devices_are_read_from_among_what_a_library_prints(dev: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = AmdDevice(0, "MI300X", "gfx942:sramecc+:xnack-", 64, 304, integrated=False)
    told = json.dumps({"why": "", "hip": "7.2.53211", "emulator": "", "devices": [asdict(row)]})
    printed = f"a warning\ncandle-parity devices: {told}\nbye\n"
    monkeypatch.setattr(devices, "chosen", lambda: LIBRARY)
    monkeypatch.setattr(devices, "run_bounded", lambda *_: Finished(0, printed, ""))
    found = probe()
    assert found.hip == "7.2.53211"
    assert found.devices == (row,)
    assert str(row) == "0: MI300X (gfx942:sramecc+:xnack-, wave 64, 304 compute units)"
