"""`python -m tests.conformance`: compare what we decide with the golden corpus."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stowplan.config.releases import RELEASES
from tests.conformance import corpus, parity, report, running
from tests.conformance.corpus import Selection


def main(arguments: list[str] | None = None) -> int:
    """Run the cases asked for, print how they ended, and return the exit status."""
    options = _parser().parse_args(arguments)
    wanted = Selection(options.kind, options.tag, options.id, options.first, options.release)
    if options.write_parity and wanted != Selection():
        _parser().error(
            "--write-parity is about the whole corpus; leave out --release, --kind, --tag, --id and --first"
        )
    lines = list(corpus.select(options.directory, wanted))
    if not lines:
        _parser().error(f"no case of {options.directory} is selected; check --release, --kind, --tag and --id")
    tallies = running.run(lines, with_memo=not options.no_memo)
    for release, tally in tallies.items():
        print(f"kube-scheduler {RELEASES[release]}")
        for text in (*report.summary(tally), *report.clusters(tally, 20), *report.differences(tally, options.show)):
            print(text)
    if options.write_parity:
        parity.PAGE.write_text(parity.page(tallies), encoding="utf-8")
    return 0 if all(tally.is_clean for tally in tallies.values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=corpus.default_directory(), metavar="DIR")
    parser.add_argument("--release", default="", choices=["", *RELEASES], help="only cases of this release")
    parser.add_argument("--kind", default="", help="only cases of this kind")
    parser.add_argument("--tag", default="", help="only cases with this feature tag")
    parser.add_argument("--id", default="", metavar="CASE", help="only this case")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="only the first N cases of each file")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="how many differences to print")
    parser.add_argument("--no-memo", action="store_true", help="do not check kept answers against new ones")
    parser.add_argument("--write-parity", action="store_true", help="write the result to docs/parity.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
