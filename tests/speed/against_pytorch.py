"""Times our kernels and PyTorch's on one NVIDIA GPU, and prints both with their ratio.

python tests/speed/against_pytorch.py [--only REGEX] [--kernels PATH]

Ours are timed by ``candle-parity bench``; PyTorch's by events around each call, with caches evicted before it. Products
of f32 are computed in f32, not TF32, and cuDNN chooses the fastest of its ways.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[2]

LAUNCHES, WARM_UP = 30, 5
EVICTING_BYTES = 256 * 2**20

Operation = Callable[[], object]


@dataclass(frozen=True)
class Call:
    """What PyTorch computes: ``call(torch, *operands)`` of random operands of these shapes."""

    call: Callable[..., object]
    shapes: tuple[tuple[int, ...], ...]
    below: int | None = None
    """The last operand holds whole numbers below this."""

    def made(self, torch: Any, dtype: str) -> Operation:
        operands = [torch.randn(shape, device="cuda").to(getattr(torch, dtype)) for shape in self.shapes]
        if self.below is not None:
            operands[-1] = torch.randint(self.below, self.shapes[-1], device="cuda", dtype=torch.int32)
        return lambda: self.call(torch, *operands)


def of(call: Callable[..., object], *shapes: tuple[int, ...]) -> Call:
    return Call(call, shapes)


def gelu(torch: Any, x: Any) -> object:
    return torch.nn.functional.gelu(x, approximate="tanh")


FLAT, SQUARE, PLANES, ROW = (64 * 2**20,), (8192, 8192), (16, 64, 256, 256), (8192,)
CONV2D = "shape=[8,64,64,64],cout=64,k=[3,3],padding=1"
TRANSPOSE2D = "shape=[8,64,32,32],cout=64,k=[4,4],padding=1,stride=2"
POOL = "shape=[16,64,256,256],k=[2,2],stride=[2,2]"
conv2d = of(lambda t, x, w: t.conv2d(x, w, padding=1), (8, 64, 64, 64), (64, 64, 3, 3))
conv1d = of(lambda t, x, w: t.conv1d(x, w, padding=1), (16, 128, 4096), (128, 128, 3))
transpose2d = of(lambda t, x, w: t.conv_transpose2d(x, w, stride=2, padding=1), (8, 64, 32, 32), (64, 64, 4, 4))
ROWS: tuple[tuple[str, str, Call], ...] = (
    # case, type of the operands, what PyTorch computes
    (f"conv2d_f32({CONV2D})", "float32", conv2d),
    (f"conv2d_f16({CONV2D})", "float16", conv2d),
    (f"conv2d_bf16({CONV2D})", "bfloat16", conv2d),
    (f"conv2d_f64({CONV2D})", "float64", conv2d),
    ("conv1d_f32(shape=[16,128,4096],cout=128,k=[3],padding=1)", "float32", conv1d),
    (f"conv_transpose2d_f32({TRANSPOSE2D})", "float32", transpose2d),
    (f"avg_pool2d_f32({POOL})", "float32", of(lambda t, x: t.nn.functional.avg_pool2d(x, 2), PLANES)),
    (f"max_pool2d_f32({POOL})", "float32", of(lambda t, x: t.nn.functional.max_pool2d(x, 2), PLANES)),
    ("ugelu_f16(shape=[67108864])", "float16", of(gelu, FLAT)),
    ("ugelu_f32(shape=[67108864])", "float32", of(gelu, FLAT)),
    ("uexp_f32(shape=[67108864])", "float32", of(lambda t, x: t.exp(x), FLAT)),
    ("affine_f32(shape=[67108864])", "float32", of(lambda t, x: x * 3, FLAT)),
    ("cast_f32_f16(shape=[67108864])", "float32", of(lambda t, x: x.to(t.float16), FLAT)),
    ("badd_f32(shape=[67108864])", "float32", of(lambda t, x, y: x + y, FLAT, FLAT)),
    ("badd_f32(shape=[8192,8192],rhs=broadcast_first)", "float32", of(lambda t, x, y: x + y, SQUARE, ROW)),
    ("badd_f32(shape=[8192,8192],lhs=transposed)", "float32", of(lambda t, x, y: x.t() + y, SQUARE, SQUARE)),
    (
        "is_u32_f32(shape=[1,8192,8192],count=8192)",
        "float32",
        Call(lambda t, x, ids: t.index_select(x, 0, ids), (SQUARE, ROW), below=8192),
    ),
    ("fast_sum_f32(shape=[8192,8192])", "float32", of(lambda t, x: x.sum(1), SQUARE)),
    ("fast_sum_f32(shape=[8192,8192],layout=transposed)", "float32", of(lambda t, x: x.sum(0), SQUARE)),
    ("softmax_f32(shape=[8192,8192])", "float32", of(lambda t, x: t.softmax(x, 1), SQUARE)),
    ("rmsnorm_f32(shape=[8192,8192])", "float32", of(lambda t, x, w: t.rms_norm(x, ROW, w, 1e-5), SQUARE, ROW)),
    (
        "layernorm_f32(shape=[8192,8192])",
        "float32",
        of(lambda t, x, w, b: t.layer_norm(x, ROW, w, b), SQUARE, ROW, ROW),
    ),
    ("asort_asc_f32(shape=[16384,1024])", "float32", of(lambda t, x: t.argsort(x, 1), (16384, 1024))),
)


def ours(cases: list[str], kernels: Path) -> dict[str, float]:
    """Milliseconds of each case by ``candle-parity bench``."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "bench.json"
        words = ["bench", "--runtime", "cuda", "--kernels", str(kernels), "--json", str(record), *cases]
        subprocess.run([sys.executable, "-m", "conformance.cli.main", *words], check=True, stdout=subprocess.DEVNULL)
        return {row["case"]: row["ours"]["ms"] for row in json.loads(record.read_text())["workloads"]}


def theirs(torch: Any, operation: Operation, evicting: Any) -> float:
    """Milliseconds of PyTorch's call, the median; the eviction before it hides what launching takes."""
    times: list[float] = []
    for launch in range(WARM_UP + LAUNCHES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        evicting.fill_(launch % 100)
        begin.record()
        operation()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return median(times[WARM_UP:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose case this is found in")
    parser.add_argument("--kernels", type=Path, default=ROOT / "kernels", help="a folder of kernels")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if re.search(arguments.only, row[0])]
    if not rows:
        parser.error(f"--only {arguments.only}: no row's case has that")
    torch = importlib.import_module("torch")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    found = ours([case for case, _, _ in rows], arguments.kernels)
    evicting = torch.empty(EVICTING_BYTES, dtype=torch.uint8, device="cuda")
    table = []
    for case, dtype, call in rows:
        its = theirs(torch, call.made(torch, dtype), evicting)
        mine = found.get(case)
        table.append((case, mine, its, None if mine is None else its / mine))
        torch.cuda.empty_cache()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print(tabulate(table, ("case", "ours, ms", "PyTorch, ms", "times as fast"), floatfmt=("", ".4f", ".4f", ".2f")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
