"""One API server, many who watch it: an outage is told once, and over for all as soon as for one."""

import asyncio

from stowplan.kube.informer import ServerContact
from tests.limits import LIMIT_SECONDS

REFUSED = "cannot connect: connection refused"
AWAY = f"the API server does not answer: {REFUSED}; it is asked again"
BACK = "the API server answers again"


def test_an_outage_is_told_once_and_its_end_when_all_have_an_answer() -> None:
    told: list[str] = []
    contact = ServerContact(told.append)
    for resource in ("pods", "nodes", "pods"):
        contact.lose(resource, REFUSED)
    contact.find("pods")
    assert told == [AWAY]
    contact.find("nodes")
    assert told == [AWAY, BACK]


def test_another_problem_is_news_and_so_is_the_next_outage() -> None:
    told: list[str] = []
    contact = ServerContact(told.append)
    contact.lose("pods", REFUSED)
    contact.lose("pods", "the certificate has expired")
    contact.find("pods")
    contact.lose("pods", REFUSED)
    expired = "the API server does not answer: the certificate has expired; it is asked again"
    assert told == [AWAY, expired, BACK, AWAY]


def test_an_answer_that_nobody_missed_is_no_news() -> None:
    told: list[str] = []
    ServerContact(told.append).find("pods")
    assert told == []


def test_who_waits_for_an_answer_waits_until_another_gets_one() -> None:
    async def work() -> None:
        contact = ServerContact(lambda text: None)
        contact.lose("pods", REFUSED)
        contact.lose("nodes", REFUSED)
        waiting = asyncio.ensure_future(contact.pause("nodes", 3600))
        await asyncio.sleep(0)
        assert not waiting.done()
        contact.find("pods")
        async with asyncio.timeout(LIMIT_SECONDS):
            await waiting
        # Who has lost nothing just waits.
        await contact.pause("pods", 0.0)
        # And a pause ends by itself.
        await contact.pause("nodes", 0.0)

    asyncio.run(work())
