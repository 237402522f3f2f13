"""Which taints a pod puts up with."""

from __future__ import annotations

import pytest

from stowplan.model.affinity import Toleration
from stowplan.model.node import Taint
from stowplan.model.tolerations import count_intolerable_preferences, first_untolerated, tolerates

TAINT = Taint(key="gpu", value="5", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration(key="gpu", value="5"), True, id="no operator means Equal"),
        pytest.param(Toleration(key="gpu", operator="Equal", value="6"), False, id="another value"),
        pytest.param(Toleration(key="gpu", operator="Exists", value="6"), True, id="Exists does not look at values"),
        pytest.param(Toleration(operator="Exists"), True, id="no key with Exists tolerates all"),
        pytest.param(Toleration(value="5"), True, id="no key with Equal looks at the value alone"),
        pytest.param(Toleration(key="cpu", operator="Exists"), False, id="another key"),
        pytest.param(Toleration(key="gpu", operator="Exists", effect="NoExecute"), False, id="another effect"),
        pytest.param(Toleration(key="gpu", operator="Gt", value="4"), False, id="Gt is off by default"),
        pytest.param(Toleration(key="gpu", operator="Bogus", value="5"), False, id="an unknown operator"),
    ],
)
def test_one_toleration(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, TAINT) is expected


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        pytest.param("Gt", "4", True, id="the taint is greater"),
        pytest.param("Gt", "5", False, id="equal is not greater"),
        pytest.param("Lt", "6", True, id="the taint is less"),
        pytest.param("Lt", "x", False, id="text is no bound"),
        pytest.param("Lt", "", False, id="nothing is no bound"),
        pytest.param("Lt", "08", False, id="no leading zero"),
        pytest.param("Lt", "+8", False, id="no plus sign"),
        pytest.param("Lt", " 8", False, id="no space"),
        pytest.param("Gt", "-0", False, id="no minus nought"),
        pytest.param("Gt", "0", True, id="nought"),
        pytest.param("Gt", "-8", True, id="a minus sign"),
        pytest.param("Lt", "9223372036854775807", True, id="the largest number"),
        pytest.param("Lt", "9223372036854775808", False, id="no number beyond 64 bits"),
    ],
)
def test_comparison_operators_where_they_are_on(operator: str, value: str, expected: bool) -> None:
    toleration = Toleration(key="gpu", operator=operator, value=value)
    assert tolerates(toleration, TAINT, comparison_operators=True) is expected


@pytest.mark.parametrize("value", ["05", "+5", " 5", "-0", "", "five"])
def test_a_taint_whose_value_is_no_plain_number_compares_with_nothing(value: str) -> None:
    taint = Taint(key="gpu", value=value, effect="NoSchedule")
    for operator, bound in (("Gt", "-9"), ("Lt", "9")):
        toleration = Toleration(key="gpu", operator=operator, value=bound)
        assert tolerates(toleration, taint, comparison_operators=True) is False


def test_the_first_taint_that_keeps_a_pod_away_is_found() -> None:
    soft = Taint(key="soft", effect="PreferNoSchedule")
    hard = Taint(key="hard", effect="NoExecute")
    assert first_untolerated((soft, TAINT, hard), ()) is TAINT
    assert first_untolerated((soft, TAINT, hard), (Toleration(key="gpu", operator="Exists"),)) is hard
    assert first_untolerated((soft,), ()) is None


def test_only_soft_taints_are_counted_and_only_by_tolerations_that_speak_of_them() -> None:
    taints = (
        Taint(key="a", effect="PreferNoSchedule"),
        Taint(key="b", effect="PreferNoSchedule"),
        Taint(key="c", effect="NoSchedule"),
    )
    tolerations = (
        Toleration(key="a", operator="Exists"),
        Toleration(key="b", operator="Exists", effect="NoSchedule"),
    )
    assert count_intolerable_preferences(taints, tolerations) == 1
    assert count_intolerable_preferences(taints, ()) == 2


def test_many_tolerations_of_many_taints_are_found_by_their_keys() -> None:
    # One by one, this would take minutes.
    keys = [f"k{number}" for number in range(50_000)]
    many = tuple(Toleration(key=key, operator="Exists", effect="NoSchedule") for key in reversed(keys))
    taints = [Taint(key=key, effect="NoSchedule") for key in keys]
    assert first_untolerated(taints, many) is None
    assert first_untolerated(taints, many[1:]) == taints[-1]
    assert first_untolerated(taints, (*many[1:], Toleration(operator="Exists"))) is None
