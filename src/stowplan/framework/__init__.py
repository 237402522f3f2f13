"""The plugin contract and the runner that asks plugins and keeps their answers."""
