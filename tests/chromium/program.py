"""Where Chromium is, and how it is started: headless, in a container, by root."""

from __future__ import annotations

import shutil
from typing import Final

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS: Final = (
    "--headless=new",
    # Tests run as root in containers, with little shared memory and no display.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # It has guards of its own against pages that reach into the machine, which older ones and others have not.
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
)


def find() -> str:
    """Return where the browser is. Raise FileNotFoundError if there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise FileNotFoundError("there is no Chromium on the PATH; tests/chromium/install installs it, where it may")
    return found
