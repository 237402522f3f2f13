"""YAML is read the way Kubernetes components read it."""

import pytest

from stowplan.config.document import Number, plain
from stowplan.config.errors import ConfigError
from stowplan.config.yaml_text import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("yes", True, id="yes is true"),
        pytest.param("n", False, id="n is false"),
        pytest.param("'yes'", "yes", id="quoted is text"),
        pytest.param("!!str 5", "5", id="tagged as text is text"),
        pytest.param("~", None, id="tilde is null"),
        pytest.param("010", 8, id="a leading zero means octal"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("0X1F", 31, id="a prefix may be large"),
        pytest.param("0B11", 3, id="binary"),
        pytest.param("0o17", 15, id="octal with a prefix"),
        pytest.param("0x_", "0x_", id="a prefix alone is text"),
        pytest.param("08", 8, id="a leading zero before what is not octal"),
        pytest.param("-7", -7, id="negative"),
        pytest.param("1_000", 1000, id="digits may be grouped"),
        pytest.param("1__000", 1000, id="digits may be grouped twice"),
        pytest.param("1_000.5", 1000.5, id="digits of a fraction may be grouped"),
        pytest.param(".5_0", 0.5, id="digits after a leading point may be grouped"),
        pytest.param("._5", "._5", id="not after a leading point"),
        pytest.param("1e400", "1e400", id="a number that is too large is text"),
        pytest.param("0x1ffffffffffffffff", "0x1ffffffffffffffff", id="more than 64 bits are text"),
        pytest.param("18446744073709551615", 18446744073709551615, id="64 bits"),
        pytest.param("1e3", 1000, id="an exponent needs no point"),
        pytest.param("1.5", 1.5, id="fraction"),
        pytest.param("1:30", "1:30", id="no base sixty"),
        pytest.param("2020-01-01", "2020-01-01", id="a date is text"),
        pytest.param("b: 1\na: 2", {"a": 2, "b": 1}, id="mapping"),
        pytest.param("1: a\ntrue: b", {"1": "a", "true": "b"}, id="keys become text"),
        pytest.param("a: &x [1]\nb: *x", {"a": [1], "b": [1]}, id="an alias repeats its anchor"),
        pytest.param(
            "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}", {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}}, id="merge"
        ),
        pytest.param("a: 1\n---\nb: [", {"a": 1}, id="only the first document is read"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_values(text: str, value: object) -> None:
    root, faults = parse(text)
    assert plain(root) == value
    assert faults == ()


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        pytest.param("0.00001", "0.00001", id="small"),
        pytest.param("1e-7", "1e-7", id="very small"),
        pytest.param("18446744073709551616", "18446744073709552000", id="large"),
        pytest.param("+18446744073709551615", "18446744073709552000", id="large with a sign"),
        pytest.param("1e21", "1e+21", id="very large"),
        pytest.param("-0.0", "-0", id="negative zero"),
    ],
)
def test_a_number_is_spelled_as_in_upstreams_messages(text: str, spelling: str) -> None:
    assert parse(text) == (Number(spelling), ())


def test_keys_come_out_sorted() -> None:
    assert list(plain(parse("b: 1\nc: 2\na: 3")[0])) == ["a", "b", "c"]


def test_the_last_of_repeated_keys_counts_and_is_reported() -> None:
    root, faults = parse("a: 1\nb:\n  c: 1\n  c: 2\na: 3")
    assert plain(root) == {"a": 3, "b": {"c": 2}}
    expected = 'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map'
    assert faults == (expected,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: 1\nb: [\n", "yaml: line 2: did not find expected node content", id="an open list"),
        pytest.param("a: 1\n\tb: 1\n", "yaml: line 2: found a tab character that violates indentation", id="a tab"),
        pytest.param(
            "a: 1\nb: c: d\n", "yaml: line 2: mapping values are not allowed in this context", id="two colons"
        ),
        pytest.param("a: *nobody", "yaml: unknown anchor", id="an alias without anchor"),
        pytest.param("a: &x [*x]", "yaml: line 1: anchor value contains itself", id="an anchor inside itself"),
        pytest.param("a: .inf", "json: unsupported value: +Inf", id="infinity"),
        pytest.param("a: -.Inf", "json: unsupported value: -Inf", id="negative infinity"),
        pytest.param("a: .NAN", "json: unsupported value: NaN", id="not a number"),
        pytest.param("? [a]\n: b", "yaml: line 1: invalid map key: it must be a scalar", id="a list as key"),
    ],
)
def test_a_text_that_is_no_yaml_says_where(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert (caught.value.stage, caught.value.message) == ("decode", problem)


def test_aliases_cannot_blow_a_small_text_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    with pytest.raises(ConfigError, match="excessive aliasing"):
        parse("\n".join(lines))
