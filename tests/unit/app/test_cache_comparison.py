"""What a replica tells of itself: how its watches are, and whether the cache is what they told."""

from prometheus_client.parser import text_string_to_metric_families

from tests.unit.app.hurried_replica import Stand, play

ALONE = "--leader-elect=false"


def value(text: str, name: str, **labels: str) -> float:
    """Return a sample of a page of metrics."""
    found = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and sample.labels == labels
    ]
    assert len(found) == 1, (name, labels)
    return found[0]


def test_a_silence_grows_until_a_bookmark_ends_it() -> None:
    async def scene(stand: Stand) -> None:
        stand.sends_bookmarks = False
        async with stand.running(ALONE):
            await stand.minutes(2)
            stand.api.send_bookmarks()
            await stand.minutes(0.5)

    seconds = [value(text, "stowplan_watch_silence_seconds", resource="nodes") for text in play(scene)]
    assert seconds[0] < 60
    assert 115 <= seconds[3] <= 125
    assert seconds[4] <= 31


def test_of_a_resource_that_was_never_to_be_had_there_is_no_silence() -> None:
    async def scene(stand: Stand) -> None:
        async with stand.running(ALONE):
            await stand.minutes(1)

    text = play(scene)[-1]
    assert 'stowplan_watch_silence_seconds{resource="pods"}' in text
    assert 'resource="persistentvolumes"' not in text


def test_lists_are_counted() -> None:
    async def scene(stand: Stand) -> None:
        async with stand.running(ALONE):
            await stand.minutes(1)
            for informer in stand.replica.watching.informers:
                informer._must_list = True
            stand.api.end_watches()
            await stand.minutes(1)

    first, _, last, _ = (value(text, "stowplan_watch_lists_total", resource="pods") for text in play(scene))
    assert (first, last) == (1, 2)


def test_a_pod_that_the_cache_lacks_is_missed_and_one_too_many_is_redundant() -> None:
    async def scene(stand: Stand) -> None:
        async with stand.running(ALONE):
            await stand.minutes(2, pods=1)
            cache = stand.replica.scheduler.state.cache
            lost, kept, *_ = [placed.pod for placed in cache.pods()]
            cache.remove_pod(lost)
            del stand.replica.watching.informers[1].store.objects[kept.key]
            cache.remove_node("n1")
            await stand.minutes(3)

    texts = play(scene)

    def counts(text: str) -> dict[tuple[str, str], float]:
        return {
            (kind, side): value(text, "stowplan_cache_mismatches", kind=kind, side=side)
            for kind in ("node", "pod")
            for side in ("missed", "redundant")
        }

    none = {("node", "missed"): 0, ("node", "redundant"): 0, ("pod", "missed"): 0, ("pod", "redundant"): 0}
    assert counts(texts[3]) == none
    assert counts(texts[-1]) == {**none, ("node", "missed"): 1, ("pod", "missed"): 1, ("pod", "redundant"): 1}


def test_more_pods_than_are_looked_at_at_once_are_all_looked_at() -> None:
    async def scene(stand: Stand) -> None:
        stand.add_pods(600)
        async with stand.running("--leader-elect=false", "--kube-api-qps=100000", "--kube-api-burst=100000"):
            await stand.minutes(1)
            cache = stand.replica.scheduler.state.cache
            for placed in list(cache.pods()):
                cache.remove_pod(placed.pod)
            await stand.minutes(3)

    assert value(play(scene)[-1], "stowplan_cache_mismatches", kind="pod", side="missed") == 600
