"""One rule of device allocation at a time."""
