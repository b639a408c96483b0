"""``python -m conformance``: the command line, ``candle-parity``."""

import sys

from conformance.cli.main import main

sys.exit(main())
