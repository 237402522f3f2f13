"""Lays out the sources of the site in the folder that is named: a step of `make docs`."""

import sys
from pathlib import Path

from tools.documentation.stage import ROOT, BrokenLinkError, lay_out

if __name__ == "__main__":
    try:
        lay_out(ROOT, Path(sys.argv[1]))
    except BrokenLinkError as error:
        sys.exit(str(error))
