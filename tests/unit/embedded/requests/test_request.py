"""What a path names."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests import request
from stowplan.embedded.storage.catalogue import Catalogue

Named = tuple[str, str, str, str]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/api/v1/pods", ("pods", "", "", ""), id="pods everywhere"),
        pytest.param("/api/v1/namespaces/x/pods", ("pods", "x", "", ""), id="pods of a namespace"),
        pytest.param("/api/v1/namespaces/x/pods/p", ("pods", "x", "p", ""), id="a pod"),
        pytest.param("/api/v1/namespaces/x/pods/p/status", ("pods", "x", "p", "status"), id="a part of a pod"),
        pytest.param("/api/v1/namespaces/x/pods/p/proxy/a/b", ("pods", "x", "p", "proxy"), id="what follows a part"),
        pytest.param("/api/v1/nodes/n", ("nodes", "", "n", ""), id="a node"),
        pytest.param("/api/v1/namespaces", ("namespaces", "", "", ""), id="namespaces"),
        pytest.param("/api/v1/namespaces/x", ("namespaces", "", "x", ""), id="a namespace"),
        pytest.param("/api/v1/namespaces/x/status", ("namespaces", "", "x", "status"), id="a part of a namespace"),
        pytest.param(
            "/apis/apps/v1/namespaces/x/deployments/d/scale", ("deployments.apps", "x", "d", "scale"), id="of a group"
        ),
        pytest.param("/api/v1/nodes/a%2Fb", ("nodes", "", "a/b", ""), id="a slash in a name"),
        pytest.param("//api/v1//nodes/", ("nodes", "", "", ""), id="too many slashes"),
    ],
)
def test_a_path_names_a_target(path: str, expected: Named) -> None:
    target = request.find_target(request.split_path(path), Catalogue())
    assert (target.resource.qualified, target.namespace, target.name, target.subresource) == expected


@pytest.mark.parametrize(
    "path",
    ["/", "/api", "/api/v1", "/api/v2/pods", "/apis/apps/v1", "/apis/apps/v9/deployments", "/api/v1/pods/p", "/x/y/z"],
)
def test_a_path_that_names_nothing_is_not_found(path: str) -> None:
    with pytest.raises(StatusError, match="the server could not find the requested resource") as refused:
        request.find_target(request.split_path(path), Catalogue())
    assert refused.value.code == 404
