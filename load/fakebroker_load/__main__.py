"""The commands `fakebroker-load` and `python -m load`. If a package is missing, the message names it in one
sentence."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the console script."""
    try:
        from fakebroker_load.cli import main as run
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] in ("fakebroker_load", "fakebroker"):
            raise
        from fakebroker.extras import not_installed

        print(f"fakebroker-load: {not_installed('it', error.name, 'load')}", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
