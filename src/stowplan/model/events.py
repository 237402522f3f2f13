"""The event the scheduler tells the user with (events.k8s.io/v1); its times are MicroTimes."""

from __future__ import annotations

from stowplan.model.meta import Int32, MicroTime, Namespaced, ObjectReference, Part, always


class EventSeries(Part, frozen=True, kw_only=True):
    count: Int32 = 0
    last_observed_time: MicroTime | None = None


class Event(Namespaced, frozen=True, kw_only=True):
    """`type` is Normal or Warning, `note` the text, `regarding` the object it is about."""

    api_version: str = always("events.k8s.io/v1")
    kind: str = always("Event")
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    type: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
