"""Keeps one resource in step with the API server: list once, then follow the watch, for as long as the process runs.

    start, or the watch's version is gone --> list (streamed, or in pages) --> watch <--+
                                                                                 |     | ended, broken, busy:
                                                                                 +-----+ go on from the last version

`listing.py` lists, reads, remembers and tells. This file decides what comes next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from stowplan.kube import listing
from stowplan.kube.backoff import Draw, RetryDelays
from stowplan.kube.client import Client
from stowplan.kube.errors import ApiError, RequestError, TransportError
from stowplan.kube.listing import BrokenText, Handler, Lines, Listed, ResourceReader, WatchedChange, WatchedObjects
from stowplan.kube.resources import ApiResource
from stowplan.kube.transport import ApiRequest, IncomingAnswer

_WATCH_SECONDS = 300
# The server ends a watch on time; one that is silent for longer has lost its connection.
_GRACE_SECONDS = 30.0
_INITIAL_SILENCE_SECONDS = 30.0
_SHORT_WATCH_SECONDS = 1.0
_AFTER_RESTART_SECONDS = 1.0
# Refusals in a row without a single event, after which the place in the watch is given up.
_MAX_FRUITLESS = 3
_REFUSES_STREAMING = (400, 422)


class Informer:
    """One resource of one API server. `handler` hears every change, in order; `contact` is shared by all informers."""

    def __init__(
        self, client: Client, resource: ApiResource, handler: Handler, draw: Draw, contact: ServerContact
    ) -> None:
        self.resource = resource
        self.store = WatchedObjects(handler)
        self.has_synced = False
        #: Why the resource cannot be had, "" if it can; asked for again now and then.
        self.unavailable = ""
        #: How often the whole of it was listed.
        self.lists = 0
        self._heard_at = 0.0
        self._client = client
        self._reader = ResourceReader(resource, self.store, contact.report)
        self._draw, self._contact, self._report = draw, contact, contact.report
        self._backoff = RetryDelays(draw)
        self._settled = asyncio.Event()
        self._must_list = True
        self._streams_lists = True
        #: A streamed list failed: whatever the reason, the next one is a plain one.
        self._is_next_plain = False
        self._is_paged = False
        #: The version to go on from, and whether the server has lost it.
        self._version = "0"
        self._is_version_lost = False
        self._fruitless = 0
        self._breaks = 0
        self._reported = ""

    def read_as(self, resource: ApiResource) -> None:
        """Read objects that come from now on as the same resource, otherwise described, says."""
        self.resource = self._reader.resource = resource

    async def settled(self) -> None:
        """Wait until the resource is in step, or known to be unavailable where others do without it."""
        await self._settled.wait()

    async def run(self) -> None:
        """Follow the resource until cancelled."""
        while True:
            try:
                if not self._must_list:
                    await self._watch()
                elif self._streams_lists and not self._is_next_plain:
                    await self._stream_list()
                else:
                    await self._list_pages()
            except (RequestError, BrokenText, _NoStreamedList) as fault:
                await self._contact.pause(self.resource.name, self._delay_after(fault))

    def silence_seconds(self, now: float) -> float:
        """Return how long the server has said nothing about the resource; in quiet times it does once a minute.

        `now` is by the clock of the event loop.
        """
        return now - self._heard_at

    # Listing

    async def _list_pages(self) -> None:
        version = "" if self._is_version_lost else self._version
        found = await listing.in_pages(self._client, self._reader, version, is_paged=self._is_paged)
        self._is_paged = self._is_paged or (version == "0" and found.pages > 1)
        self._take_list(found)

    async def _stream_list(self) -> None:
        """List and watch in one request: all objects as if added, a bookmark, then what changes."""
        version = "" if self._is_version_lost or self._version == "0" else self._version
        parameters = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        if version:
            parameters["resourceVersion"] = version
        async with self._client.stream(self._watch_request(parameters)) as stream:
            self._begin_watch()
            events = self._events(stream)
            self._take_list(await self._first_events(events))
            async for event in events:
                self._take(event)

    async def _first_events(self, events: AsyncIterator[WatchedChange]) -> Listed:
        """Collect the list; long silence means that the bookmark which ends it is not going to come."""
        try:
            async with asyncio.timeout(None) as patience:
                return await listing.from_stream(self._reader, _resetting(patience, events))
        except TimeoutError:
            raise _NoStreamedList from None

    def _take_list(self, found: Listed) -> None:
        self.store.replace(found.objects)
        self._heard_at = asyncio.get_running_loop().time()
        self.lists += 1
        self._version, self._is_version_lost, self._must_list = found.version, False, False
        self.has_synced, self._is_next_plain = True, False
        self._recover()
        self._settled.set()

    # Watching

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        count = 0
        async with self._client.stream(self._watch_request({"resourceVersion": self._version})) as stream:
            self._begin_watch()
            async for event in self._events(stream):
                self._take(event)
                count += 1
        if count == 0 and loop.time() - started < _SHORT_WATCH_SECONDS:
            raise BrokenText("the watch ended at once")
        self._recover()

    def _begin_watch(self) -> None:
        self._contact.find(self.resource.name)
        if self.resource.is_essential:
            self._contact.watch_begun.set()

    async def _events(self, stream: IncomingAnswer) -> AsyncIterator[WatchedChange]:
        lines, loop = Lines(), asyncio.get_running_loop()
        async for piece in stream.pieces():
            self._heard_at = loop.time()
            for line in lines.feed(piece):
                yield self._reader.event(line)

    def _watch_request(self, parameters: dict[str, str]) -> ApiRequest:
        seconds = int(_WATCH_SECONDS * (1 + self._draw()))
        parameters |= {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if self.resource.field_selector:
            parameters["fieldSelector"] = self.resource.field_selector
        return ApiRequest("GET", self.resource.path, parameters, silence_seconds=seconds + _GRACE_SECONDS)

    def _take(self, event: WatchedChange) -> None:
        # The version moves only after the change was told, so what was not told comes again.
        self._version = self._reader.apply(event) or self._version
        self._fruitless = self._breaks = 0
        if self._reported or self.unavailable or self._contact.lost:
            self._recover()

    # What comes after a failure

    def _delay_after(self, fault: Exception) -> float:
        """Decide how to go on after a failure, and return the seconds to wait first."""
        was_listing = self._must_list
        match fault:
            case _NoStreamedList():
                return self._list_without_streaming()
            case ApiError() if fault.code in _REFUSES_STREAMING and was_listing and self._streams_lists:
                return self._list_without_streaming()
            case ApiError() if (fault.is_expired or fault.is_version_unknown) and not self._is_version_lost:
                # A list of the last version or newer is tried first; only if that fails, any version will do.
                self._is_version_lost = was_listing or fault.is_version_unknown
                self._must_list = True
                self._fruitless += 1
                # Once is usual, say after a restart; more than that needs patience, for lists are dear.
                return self._draw() if was_listing or self._fruitless == 1 else self._pause()
            case ApiError() if fault.is_forbidden and self._breaks:
                # A server that has just come up does not know anybody's rights yet.
                self._breaks = 0
                return _AFTER_RESTART_SECONDS * (1 + self._draw())
            case ApiError() if fault.is_unavailable:
                return self._give_up(fault)
            case ApiError() | BrokenText():
                self._fruitless += 1
                self._is_next_plain = was_listing
                self._must_list = was_listing or self._fruitless >= _MAX_FRUITLESS
            case TransportError() if not fault.is_timeout and self.has_synced and self._breaks == 0:
                # Connections end; only one that cannot be made again is worth a line.
                self._breaks += 1
                return self._pause()
            case TransportError():
                self._breaks += 1
                self._contact.lose(self.resource.name, fault.problem)
                return self._pause()
        self._say(fault.describe() if isinstance(fault, RequestError) else f"{self.resource.name}: {fault}")
        return self._pause()

    def _pause(self) -> float:
        return self._backoff.delay(asyncio.get_running_loop().time())

    def _list_without_streaming(self) -> float:
        self._streams_lists = False
        return 0.0

    def _give_up(self, error: ApiError) -> float:
        """The server does not serve the resource, or not to us: say so once, and look again now and then."""
        self._must_list = True
        self._contact.find(self.resource.name)
        problem = error.describe()
        if problem != self.unavailable:
            granting = "grant list and watch, and it will be picked up"
            text = f"{problem}; {self._consequence()}; {self.resource.remedy if error.is_not_found else granting}"
            self._report(f"{self.resource.name} cannot be watched: {text}")
        self.unavailable = problem
        if not self.resource.is_essential:
            self._settled.set()
        return self._pause()

    def _consequence(self) -> str:
        if self.has_synced:
            return "what was seen last counts until then"
        return "no pod is scheduled until then" if self.resource.is_essential else "scheduling goes on without it"

    def _recover(self) -> None:
        self._contact.find(self.resource.name)
        if self._reported or self.unavailable:
            self._reported = self.unavailable = ""
            self._report(f"{self.resource.name}: the API server answers again")

    def _say(self, text: str) -> None:
        # While the resource cannot be had anyway, nobody misses it for another reason.
        if text != self._reported and not self.unavailable:
            self._reported = text
            self._report(text)


class _NoStreamedList(Exception):  # noqa: N818 - a turn of events, not an error
    """The server took the request for a streamed list for a plain watch."""


async def _resetting(patience: asyncio.Timeout, events: AsyncIterator[WatchedChange]) -> AsyncIterator[WatchedChange]:
    """Pass events on, each of them a reason to wait for another."""
    loop = asyncio.get_running_loop()
    heard_at = loop.time()
    patience.reschedule(heard_at + _INITIAL_SILENCE_SECONDS)
    async for event in events:
        # To the second is good enough, for a list has many.
        if loop.time() > heard_at + 1.0:
            heard_at = loop.time()
            patience.reschedule(heard_at + _INITIAL_SILENCE_SECONDS)
        yield event


class ServerContact:
    """Whether the API server answers, for all its informers: told once, and found out by all as soon as by one.

    `report` is for people.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self.report = report
        #: The resources whose informers got no answer, and what was said about that.
        self.lost: set[str] = set()
        self._told: set[str] = set()
        self._is_back = asyncio.Event()
        #: Set when a watch of something essential begins, also anew: it may be another server that answers.
        self.watch_begun = asyncio.Event()

    def lose(self, resource: str, problem: str) -> None:
        """Take note that there was no answer."""
        self.lost.add(resource)
        if problem not in self._told:
            self._told.add(problem)
            self.report(f"the API server does not answer: {problem}; it is asked again")

    def find(self, resource: str) -> None:
        """Take note that there was an answer: those who wait need not wait longer."""
        if resource not in self.lost:
            return
        self.lost.remove(resource)
        self._is_back.set()
        self._is_back = asyncio.Event()
        if not self.lost:
            self._told.clear()
            self.report("the API server answers again")

    async def pause(self, resource: str, seconds: float) -> None:
        """Wait after a failure; after a lack of answer, only until somebody else gets one."""
        if resource not in self.lost:
            await asyncio.sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_back.wait()
