"""Declarations of classes for mypyc where this package is compiled; no effect where it is interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**attributes):
        """Leave the class as it is. mypyc reads the decorator and never calls it."""
        return lambda cls: cls
