"""The example of the manual runs as it is written there."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "testing.md"


def test_the_story_of_the_manual_ends_well() -> None:
    [story] = [code for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S) if "run(" in code]
    exec(compile(story, str(PAGE), "exec"), {})
