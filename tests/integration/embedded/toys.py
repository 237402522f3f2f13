"""A kind of resource that tests define for themselves."""

SPEC = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TOYS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "toys.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
            }
        ],
    },
}
