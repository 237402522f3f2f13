"""Unit tests of `stowplan.plugins.nodevolumelimits`."""
