"""The options of ``candle-parity new``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from conformance.cli.usage import kernel_names

_NEW = """\
A dtype in braces is spelled as in the kernels of --like. Without --ulp and --source the tolerance is asked for; where
there is no terminal it is TODO, which the specs do not load with, and --write refuses.

examples:
  candle-parity new 'usquare_{f32,f64,f16,bf16,f8e4m3}' --like usqr_f32 --line 120 --same-tolerance --write
  candle-parity new cast_i64_f16 --like cast_i64_f32 --line 1234 --ulp 0 --source "one rounding"
"""


def new_parser(commands: Any) -> None:
    """Add the command to ``commands``, what ``add_subparsers`` returned."""
    new = commands.add_parser(
        "new",
        help="kernels shaped like another one",
        description="Prints, and with --write makes, the edit of the specs that adds kernels, and says what else is to "
        "be done.",
        epilog=_NEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    new.add_argument("names", nargs="+", metavar="NAME", help="a kernel's name, or several: 'usquare_{f32,f16}'")
    like = new.add_argument("--like", required=True, metavar="KERNEL", help="the kernel that they are shaped like")
    setattr(like, "completer", kernel_names)  # noqa: B010
    new.add_argument(
        "--line", metavar="N", help="the line in Candle's source: one for all, or f32:12,f16:40; --write needs it"
    )
    new.add_argument("--ulp", metavar="N", help="the tolerance: steps that results may be off; or f32:0,f16:1")
    new.add_argument("--library-ulp", metavar="N", help="the error of the library function inside (default: 0)")
    new.add_argument("--source", metavar="TEXT", help="where the tolerance comes from")
    new.add_argument("--same-tolerance", action="store_true", help="that of --like holds, for the same reason")
    new.add_argument(
        "--config", type=Path, metavar="FILE", help="the port's candle-parity.toml, whose own names --like then knows"
    )
    new.add_argument("--write", action="store_true", help="write it")
    new.add_argument("--specs", type=Path, metavar="DIR", help="specs other than the shipped ones")
