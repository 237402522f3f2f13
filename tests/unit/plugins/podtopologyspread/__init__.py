"""Unit tests of `stowplan.plugins.podtopologyspread`."""
