"""`python -m conformance.errors`: print the table of faults, each row with its case; `--write` writes the pages."""

from __future__ import annotations

import argparse
import sys

from conformance.errors.asked import seen
from conformance.errors.page import FAULTS_PAGE, PAGE, faults_page, named, origins, page, read
from conformance.transcripts.golden import load_all


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="conformance.errors", description=(__doc__ or "").strip())
    parser.add_argument("--write", action="store_true", help="write docs/errors.md, and the table in docs/faults.md")
    parser.add_argument("--api", help="print the rows of this API only")
    options = parser.parse_args(argv)
    found = origins(seen(load_all()), named(read()))
    if options.write:
        PAGE.write_text(page(found))
        FAULTS_PAGE.write_text(faults_page())
    else:
        for each in found:
            if options.api in (None, each.api):
                print(f"{each.api:28} {each.error:40} {each.place:8} {each.said}")
    return 1 if any(each.said == "-" for each in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
