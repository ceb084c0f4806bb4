"""All stories: what each prints and its picture, beside what its page in docs/stories has.

python examples/producing/pages.py            # which pages are not as the programs tell it?
python examples/producing/pages.py --write    # make them so
"""

from __future__ import annotations

import io
import re
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent.parent / "docs" / "stories"
STORIES = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("pages", "story"))


def page_of(name: str) -> Path:
    return PAGES / f"{name.replace('_', '-')}.md"


def told_by(name: str) -> tuple[str, str]:
    """Return the output of the program, and its picture."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        story = import_module(name).tell()
    return printed.getvalue(), story.svg()


def with_output(page: str, name: str, printed: str) -> str:
    """The page with this in its block of output."""
    block = f"```console\n$ python examples/producing/{name}.py\n"
    return re.sub(rf"{re.escape(block)}.*?```", lambda _: f"{block}{printed}```", page, flags=re.DOTALL)


def main() -> int:
    is_wrong = False
    for name in STORIES:
        printed, svg = told_by(name)
        page, drawn = page_of(name), page_of(name).with_suffix(".svg")
        updated = with_output(page.read_text(), name, printed) if page.exists() else ""
        is_same = page.exists() and updated == page.read_text() and drawn.exists() and svg == drawn.read_text()
        if "--write" in sys.argv:
            drawn.write_text(svg)
            if page.exists():
                page.write_text(updated)
        elif not is_same:
            is_wrong = True
            print(f"{page.name} or its picture is not as {name}.py tells it: --write")
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
