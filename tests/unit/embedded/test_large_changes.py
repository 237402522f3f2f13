"""Which changes are worked out beside the loop."""

import pytest

from stowplan.embedded import large_changes


@pytest.mark.parametrize(
    ("body", "is_large"),
    [
        pytest.param(b"{" + b" " * 20_000 + b"}", False, id="JSON"),
        pytest.param(b"k8s\0" + b"\x0a\x00" * 10_000, True, id="as many bytes that are not read as fast"),
        pytest.param(b"k8s\0" + b"\x0a\x00" * 1_000, False, id="few of them"),
    ],
)
def test_what_takes_long_to_read_is_large(body: bytes, is_large: bool) -> None:
    assert large_changes.is_large(body, None, has_owners=False) is is_large
