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
    rows = origins(seen(load_all()), named(read()))
    if options.write:
        PAGE.write_text(page(rows))
        FAULTS_PAGE.write_text(faults_page())
    else:
        for row in rows:
            if options.api in (None, row.api):
                print(f"{row.api:28} {row.error:40} {row.place:8} {row.said}")
    return 1 if any(row.said == "-" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
