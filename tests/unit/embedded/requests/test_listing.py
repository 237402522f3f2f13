"""Which objects a label selector and a field selector choose."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests.listing import Selection
from stowplan.embedded.storage.store import Store
from stowplan.embedded.storage.stored import Stored
from tests.unit.embedded.given import CORE_EVENTS, NEW_EVENTS, PODS, made


def stored_pod() -> Stored:
    pod = made(
        PODS,
        "web-1",
        metadata={"labels": {"app": "web"}},
        spec={"nodeName": "n1", "schedulerName": "default-scheduler"},
        status={"phase": "Running"},
    )
    return Store().write(PODS, pod)


@pytest.mark.parametrize(
    ("labels", "fields", "is_chosen"),
    [
        pytest.param("", "", True, id="nothing asked"),
        pytest.param("app=web", "", True, id="a label that it has"),
        pytest.param("app=db", "", False, id="a label that it has not"),
        pytest.param("app in (web,db),!old", "", True, id="sets and absence"),
        pytest.param("", "spec.nodeName=n1", True, id="its node"),
        pytest.param("", "spec.nodeName==n1", True, id="two equals signs"),
        pytest.param("", "spec.nodeName=", False, id="no node"),
        pytest.param("", "spec.nodeName!=", True, id="some node"),
        pytest.param("", "status.phase!=Succeeded,status.phase!=Failed", True, id="neither of two phases"),
        pytest.param("", "status.phase=Running,spec.nodeName=n2", False, id="all conditions must hold"),
        pytest.param("", "metadata.name=web-1", True, id="its name"),
        pytest.param("", "metadata.namespace=other", False, id="another namespace"),
        pytest.param("app=web", "metadata.name=web-2", False, id="labels match but fields do not"),
        pytest.param("", ",metadata.name=web-1,", True, id="empty conditions are none"),
    ],
)
def test_a_selector_chooses(labels: str, fields: str, is_chosen: bool) -> None:
    assert Selection.parse(PODS, labels, fields).matches(stored_pod()) is is_chosen


@pytest.mark.parametrize(
    ("labels", "fields", "message"),
    [
        pytest.param("a==b==c", "", "found '=='", id="two values"),
        pytest.param("", "spec.image=x", "field label not supported: spec.image", id="a field that is not selectable"),
        pytest.param("", "metadata.name", "invalid selector: 'metadata.name'; can't understand", id="no operator"),
        pytest.param("", r"metadata.name=a\b", "invalid escape sequence", id="a backslash before a letter"),
        pytest.param("", "metadata.name=a=b", "unescaped character", id="an equals sign in a value"),
    ],
)
def test_a_selector_that_cannot_be_read_is_refused(labels: str, fields: str, message: str) -> None:
    with pytest.raises(StatusError, match=message) as refused:
        Selection.parse(PODS, labels, fields)
    assert refused.value.code == 400


def test_a_comma_in_a_value_is_written_with_a_backslash() -> None:
    selection = Selection.parse(PODS, "", r"spec.nodeName=a\,b")
    assert [(term.path, term.value) for term in selection.terms] == [("spec.nodeName", "a,b")]


def test_events_are_selected_by_either_name_of_a_field() -> None:
    event = made(CORE_EVENTS, "e", involvedObject={"name": "web-1", "kind": "Pod"}, reason="Scheduled")
    stored = Store().write(CORE_EVENTS, event)
    assert Selection.parse(CORE_EVENTS, "", "involvedObject.name=web-1,reason=Scheduled").matches(stored)
    assert Selection.parse(NEW_EVENTS, "", "regarding.name=web-1").matches(stored)
    assert not Selection.parse(NEW_EVENTS, "", "regarding.name=other").matches(stored)
