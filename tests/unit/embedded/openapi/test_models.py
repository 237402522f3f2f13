"""The models of the client library are read, not run."""

from __future__ import annotations

import subprocess
import sys

from stowplan.embedded.openapi import models


def test_a_model_has_its_fields_their_meaning_and_what_it_cannot_do_without() -> None:
    taint = models.find("V1Taint")
    assert taint is not None
    assert taint.types == {"effect": "str", "key": "str", "timeAdded": "datetime", "value": "str"}
    assert taint.required == {"effect", "key"}
    assert taint.texts["key"] == "Required. The taint key to be applied to a node."


def test_what_the_library_does_not_tell_is_left_out() -> None:
    container = models.find("V1Container")
    assert container is not None
    assert container.types["resources"] == "V1ResourceRequirements"
    assert "resources" not in container.texts


def test_quotes_are_quotes() -> None:
    policy = models.find("V1PodSpec")
    assert policy is not None
    assert 'Defaults to "ClusterFirst".' in policy.texts["dnsPolicy"]


def test_a_model_that_is_not_there_is_not_found() -> None:
    assert models.find("V1Toaster") is None
    assert not models.exists("V1Toaster")


def test_the_library_is_not_imported_to_describe_the_api() -> None:
    program = (
        "import sys\n"
        "from stowplan.embedded.storage.catalogue import Catalogue\n"
        "from stowplan.embedded.openapi import documents\n"
        "assert documents.document(Catalogue(), '', 'v1')\n"
        "print('kubernetes_asyncio' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"
