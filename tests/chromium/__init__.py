"""The system's Chromium, which tests drive: `install` sees to it that there is one, `program.py` starts it."""
