"""What mypyc has to be told of a class, where this package is compiled; nothing where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**attributes):
        """mypyc reads the decorator and never calls it; interpreted, it leaves the class as it is."""
        return lambda cls: cls
