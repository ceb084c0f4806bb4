"""The clients are imported once, here: what deprecated things they use while they load is theirs to mend."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin  # noqa: F401
