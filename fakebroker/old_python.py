"""The error message for a Python that is too old, whichever module is imported. Old Pythons must be able to read this
file.

The error is an ImportError, which callers may catch. If it is not caught, the sentence is printed without a traceback.
"""

from __future__ import annotations

import sys
from typing import Any


def refuse() -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    error = ImportError(f"fakebroker needs Python 3.11 or later; this is Python {version}, {sys.executable}")
    report = sys.excepthook

    def tell(kind: Any, raised: Any, traceback: Any) -> None:
        if raised is error:
            print(error, file=sys.stderr)
        else:
            report(kind, raised, traceback)

    sys.excepthook = tell
    raise error
