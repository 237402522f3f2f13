"""A real server is sent all that a template says, with what the steps of a workload changed."""

from __future__ import annotations

import msgspec

from stowplan.bench.objects import ObjectTemplate, in_namespace
from stowplan.bench.originals import Originals, with_rest

SERVICE = """
apiVersion: v1
kind: Service
metadata: {generateName: web-}
spec: {selector: {app: web}, ports: [{protocol: TCP, port: 80}]}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-}
spec:
  containers: [{name: c, image: i, command: [sleep, "1"]}]
  volumes: [{name: v, secret: {secretName: s}}]
"""


def test_what_the_model_leaves_out_of_an_object_is_sent() -> None:
    originals = Originals()
    found = in_namespace(ObjectTemplate(SERVICE, "service.yaml", originals=originals).make({}), "here")
    assert originals.completed(found) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"generateName": "web-", "namespace": "here"},
        "spec": {"selector": {"app": "web"}, "ports": [{"protocol": "TCP", "port": 80}]},
    }


def test_entries_of_lists_are_completed_and_those_that_were_added_stay() -> None:
    originals = Originals()
    sent = originals.completed(ObjectTemplate(POD, "pod.yaml", originals=originals).make({}))
    assert sent["spec"]["containers"] == [{"name": "c", "image": "i", "command": ["sleep", "1"]}]
    assert sent["spec"]["volumes"] == [{"name": "v", "secret": {"secretName": "s"}}]
    # Those that admission adds to every pod.
    assert [one["key"] for one in sent["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


def test_an_object_with_another_spec_is_sent_as_it_is() -> None:
    originals = Originals()
    found = ObjectTemplate(SERVICE, "service.yaml", originals=originals).make({})
    other = msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, selector={"app": "db"}))
    assert originals.completed(other)["spec"] == {"selector": {"app": "db"}}


def test_what_is_written_goes_before_the_original() -> None:
    assert with_rest({"a": 1, "b": [{"c": 2}, {"c": 3}]}, {"a": 9, "b": [{"d": 4}], "e": 5}) == {
        "a": 1,
        "b": [{"c": 2, "d": 4}, {"c": 3}],
        "e": 5,
    }
