"""Addresses of pods and nodes from private ranges: there is no network, but everybody expects them to have one."""

from __future__ import annotations

from ipaddress import IPv4Network

_PODS = IPv4Network("10.64.0.0/10")
_NODES = IPv4Network("172.16.0.0/12")


def of_pod(number: int) -> str:
    """The address of the pod with this number; numbers far apart may share one."""
    return _at(_PODS, number)


def of_node(number: int) -> str:
    return _at(_NODES, number)


def _at(network: IPv4Network, number: int) -> str:
    # The first address names the network itself, the last one everybody in it.
    return str(network[1 + number % (network.num_addresses - 2)])
