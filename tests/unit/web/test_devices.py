"""How many devices nodes have, and how many of them are allocated."""

import asyncio

from stowplan.cache.cache import Cache
from stowplan.model.device_pool import Device, ResourcePool, ResourceSlice, ResourceSliceSpec
from stowplan.model.dra import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from stowplan.model.meta import NamespacedMeta, ObjectMeta
from stowplan.table.journal import Journal
from stowplan.testing import make_node
from stowplan.web.devices import DeviceColumns
from tests.unit.web.asked import ask
from tests.unit.web.sources import world

DRIVER = "gpu.example.com"


def cache_of_two_nodes() -> Cache:
    cache = Cache()
    for name in ("n0", "n1"):
        cache.add_node(make_node(name).capacity(cpu="4").build())
        devices = tuple(Device(name=f"gpu-{number}") for number in range(2))
        spec = ResourceSliceSpec(driver=DRIVER, pool=ResourcePool(name=name), node_name=name, devices=devices)
        cache.objects.put(ResourceSlice(metadata=ObjectMeta(name=name), spec=spec))
    return cache


def claim(name: str, *devices: tuple[str, str]) -> ResourceClaim:
    results = tuple(DeviceRequestAllocationResult(driver=DRIVER, pool=pool, device=device) for pool, device in devices)
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results)) if results else None
    meta = NamespacedMeta(namespace="default", name=name)
    return ResourceClaim(metadata=meta, status=ResourceClaimStatus(allocation=allocation))


def test_devices_are_counted_by_node_and_taken_with_their_claims() -> None:
    cache, journal = cache_of_two_nodes(), Journal()
    columns = DeviceColumns(cache)
    columns.bring_up(journal)
    assert columns.columns() == ([2, 2], [0, 0])
    position = journal.position
    cache.objects.put(claim("a", ("n1", "gpu-0"), ("n1", "gpu-1")))
    columns.bring_up(journal)
    assert columns.columns() == ([2, 2], [0, 2])
    marked = journal.since(position)
    assert marked is not None
    assert marked.tolist() == [1]
    cache.objects.put(claim("a"))
    columns.bring_up(journal)
    assert columns.columns() == ([2, 2], [0, 0])


def test_claims_that_were_there_before_count_too() -> None:
    cache = cache_of_two_nodes()
    cache.objects.put(claim("a", ("n0", "gpu-0")))
    columns = DeviceColumns(cache)
    columns.bring_up(Journal())
    assert columns.columns() == ([2, 2], [1, 0])


def test_without_slices_there_are_none_and_nothing_is_told_of_them() -> None:
    columns = DeviceColumns(Cache())
    columns.bring_up(Journal())
    assert (columns.has_any, columns.layout) == (False, 0)


def test_a_node_tells_of_its_devices_beside_what_is_requested_of_it() -> None:
    async def story() -> None:
        nodes = (make_node(name).capacity(cpu="4", memory="8Gi", pods=9).build() for name in ("n0", "n1"))
        async with world(*nodes) as found:
            spec = ResourceSliceSpec(
                driver=DRIVER, pool=ResourcePool(name="n1"), node_name="n1", devices=(Device(name="gpu-0"),)
            )
            found.source.cache.objects.put(ResourceSlice(metadata=ObjectMeta(name="n1"), spec=spec))
            found.source.cache.objects.put(claim("a", ("n1", "gpu-0")))
            with_devices = await ask(found.source, "nodes/{name}", name="n1")
            assert (with_devices.allocatable["devices"], with_devices.requested["devices"]) == (1, 1)
            without = await ask(found.source, "nodes/{name}", name="n0")
            assert "devices" not in without.allocatable

    asyncio.run(story())
