"""Unit tests of `stowplan.embedded.kubelet`."""
