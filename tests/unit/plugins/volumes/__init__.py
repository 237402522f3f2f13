"""Unit tests of what the plugins for volumes share, and the objects that their tests are made of."""
