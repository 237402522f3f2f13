"""Between two rounds everything is deleted that attacks have left, whatever it is called."""

import asyncio
from pathlib import Path

import aiohttp

from tests.fuzz import server_process
from tests.fuzz.cleaning import Cleaner

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def test_a_role_with_line_breaks_in_its_name_is_deleted(tmp_path: Path) -> None:
    async def leave_and_clean() -> list[str]:
        server = await server_process.start(tmp_path, "plain", lambda _: None)
        try:
            cleaner = Cleaner(server.address)
            await cleaner.remember()
            url, role = (
                f"http://127.0.0.1:{server.address.port}{ROLES}",
                {"metadata": {"name": "\r\nX: y"}, "rules": []},
            )
            async with aiohttp.ClientSession() as session, session.post(url, json=role) as answer:
                assert answer.status == 201
            return await cleaner.clean()
        finally:
            await server.end()

    assert asyncio.run(leave_and_clean()) == []
