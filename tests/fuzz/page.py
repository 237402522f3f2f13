"""Ask the page's API at random, as its OpenAPI description allows and as it does not: `make test-page`.

Starts `stowplan up` and has schemathesis ask it: whatever is sent, the answer has a code and a form that the
description names, and no question is answered with a fault. Its exit code is that of schemathesis.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.integration.up.up_process import running

_MANIFEST: Final = """
apiVersion: v1
kind: Pod
metadata: {name: placed}
spec: {containers: [{name: main, image: web}]}
---
apiVersion: v1
kind: Pod
metadata: {name: refused}
spec: {containers: [{name: main, image: web, resources: {requests: {cpu: "999"}}}]}
"""
#: Most names that are made up are nobody's; these are somebody's.
_CONFIG: Final = """
[[operations]]
include-path = "/api/stowplan/v1/nodes/{name}"
parameters = { name = "node-0001" }

[[operations]]
include-path = "/api/stowplan/v1/pods/{namespace}/{name}"
parameters = { namespace = "default", name = "refused" }

[[operations]]
include-path = "/api/stowplan/v1/pods/{namespace}/{name}/nodes"
parameters = { namespace = "default", name = "placed" }
"""
_API: Final = "/api/stowplan/v1"
#: What a description cannot say of a question is refused with 400: a profile, a node or a step that there is not.
_UNCHECKED: Final = "positive_data_acceptance"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.page")
    parser.add_argument("--schemathesis", default="schemathesis", help="the program")
    parser.add_argument("--examples", type=int, default=50, help="of each question")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pods.yaml").write_text(_MANIFEST, encoding="utf-8")
        (folder / "schemathesis.toml").write_text(_CONFIG, encoding="utf-8")
        with running(folder, "--nodes", "5", "pods.yaml") as up:
            up.until(lambda: bool(up.node_of("placed")))
            sys.exit(ask(given, folder, up.scheduler))


def ask(given: argparse.Namespace, folder: Path, server: str) -> int:
    """Ask every question but the one that never ends; return the exit code."""
    program = str(Path(given.schemathesis).absolute()) if "/" in given.schemathesis else given.schemathesis
    options = ("--max-examples", str(given.examples), "--seed", str(given.seed), "--exclude-checks", _UNCHECKED)
    command = [program, "--config-file", "schemathesis.toml", "run", f"{server}{_API}/openapi.json"]
    command += ["--exclude-path", f"{_API}/events", *options]
    return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    main()
