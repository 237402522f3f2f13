"""The attacks are drawn from their seed alone, and cover what they say."""

from random import Random

from stowplan.embedded.admission import shapes
from tests.fuzz.generators import families, objects, sound, values


def test_the_same_seed_draws_the_same_attacks() -> None:
    first, second = ([families.make(Random(seed)) for seed in range(100)] for _ in range(2))
    assert first == second


def test_every_family_has_its_turn() -> None:
    rng = Random(1)
    found = {families.make(rng).family for _ in range(1500)}
    assert found == {
        "bulk", "crd", "creation", "custom", "deletion", "halves", "pages", "patch", "pipeline", "placement",
        "protobuf", "raw", "reading", "report", "sowing", "watch", "yaml",
    }  # fmt: skip


def test_what_is_sown_has_the_form_of_its_kind() -> None:
    for resource in objects.RESOURCES:
        if "patch" in resource.verbs and resource.plural != "customresourcedefinitions":
            shapes.read(resource, sound.make(resource, "fz-0"))


def test_no_workload_asks_for_thousands_of_pods() -> None:
    asked = {"spec": {"replicas": 2**31 - 1, "template": {"spec": {"containers": [{"replicas": 10**30}]}}}}
    assert values.modest(asked) == {"spec": {"replicas": 6, "template": {"spec": {"containers": [{"replicas": 6}]}}}}
