"""Whatever is loaded gives a configuration or a ConfigError, never anything else."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.config import schema
from stowplan.config.errors import ConfigError
from stowplan.config.load import to_external
from stowplan.config.types import Configuration
from tests.known_plugins import KNOWN, default_configuration, from_mapping, load
from tests.unit.config.writing import HEADER, document

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ARGS_TYPES = [one.args_type for one in KNOWN.values() if one.args_type is not None]
NAMES = st.sampled_from([*KNOWN, "*", "EBSLimits", "Mine", ""])
TEXTS = st.sampled_from(["", "a", "5s", "-1s", "example.com/x", "In", "List", "leases", "MostAllocated"]) | NAMES
NUMBERS = st.sampled_from([0, 1, -1, 2, 100, 101, 2**31, 2**63, 1.5])


def values_of(kind: schema.FieldType) -> st.SearchStrategy[Any]:
    """Make values that mostly fit a kind, so that the later stages are reached too."""
    match kind:
        case schema.Record():
            return st.fixed_dictionaries({}, optional={name: values_of(each) for name, each in kind.fields.items()})
        case schema.Items():
            return st.lists(values_of(kind.of), max_size=2)
        case schema.Scalar("truth"):
            return st.booleans()
        case schema.Scalar("whole" | "real"):
            return NUMBERS
        case schema.TextMap():
            return st.dictionaries(TEXTS, TEXTS, max_size=2)
        case schema.Scalar("any"):
            return st.one_of(JSON, *(values_of(schema.record_of(args_type)) for args_type in ARGS_TYPES))
        case _:
            return TEXTS


FIELDS = values_of(schema.record_of(Configuration))


def outcome(loading: Callable[[], Configuration]) -> Configuration | str:
    """Give what came of it: a configuration, or the stage that refused."""
    try:
        return loading()
    except ConfigError as error:
        return error.stage


@given(FIELDS)
def test_any_fields_give_a_configuration_or_a_config_error(fields: dict[str, Any]) -> None:
    found = outcome(lambda: from_mapping({**fields, **document()}))
    if isinstance(found, Configuration):
        assert from_mapping(to_external(found)) == found
    else:
        assert found in ("decode", "validate", "construct")


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_a_mapping_of_no_kind_is_refused(fields: dict[str, Any]) -> None:
    assert outcome(lambda: from_mapping(fields)) == "decode"


@given(st.text() | st.text(alphabet="{}[]:,-&*!|>'\"# \n\tabc1").map(lambda text: HEADER + text))
def test_any_text_gives_a_configuration_or_a_config_error(text: str) -> None:
    found = outcome(lambda: load(text))
    assert found == "decode" or found == default_configuration()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 5_000, id="lists within lists"),
        pytest.param('{"a":' * 50_000, id="objects within objects"),
        pytest.param(HEADER + "a: " + "9" * 10_000, id="a very long number"),
        pytest.param(HEADER + 'a: "\\ud800"', id="half a character"),
    ],
)
def test_a_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        load(text)


def test_a_value_that_no_file_could_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot hold a value of type object"):
        from_mapping(document(parallelism=object()))
