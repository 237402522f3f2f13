"""A server in a process of its own, which can be killed.

`python -m tests.integration.embedded.server_process DIR [TOKEN]`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from stowplan.embedded.http.server import ServerOptions, serve
from stowplan.embedded.storage.persistence import Database
from tests.integration.embedded.running import make_api, make_namespace


async def run(folder: Path, token: str = "") -> None:
    """Serve what the folder has until killed; say on which port."""
    api = make_api(Database(folder))
    if api.store.version == 1:
        make_namespace(api, "default")
    serving = await serve(api, ServerOptions(token=token))
    sys.stdout.write(f"{serving.port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), *sys.argv[2:]))
