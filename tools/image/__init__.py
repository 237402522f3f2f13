"""The image: its root file system, put together without running any of it, and the archive that registries take."""
