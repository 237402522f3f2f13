"""Node selectors: terms, fields, and errors that show only when nothing matches."""

from __future__ import annotations

import pytest

from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from stowplan.model.label_syntax import SelectorError
from stowplan.model.node_selector import compile_node_selector, compile_preferred_terms, printed

BOGUS_ERROR = (
    'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Bogus": '
    'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
)


def on_label(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=key, operator=operator, values=values),))


def on_field(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param((), (False, None), id="no term matches no node"),
        pytest.param((NodeSelectorTerm(),), (False, None), id="an empty term matches no node"),
        pytest.param((on_label("zone", "In", "a"),), (True, None), id="a label that is there"),
        pytest.param((on_label("zone", "In", "b"), on_label("cpu", "Gt", "3")), (True, None), id="one of two terms"),
        pytest.param((on_label("cpu", "Lt", "4"),), (False, None), id="a bound is not below itself"),
        pytest.param((on_field("metadata.name", "In", "n1"),), (True, None), id="the node's own name"),
        pytest.param((on_field("metadata.name", "NotIn", "n1"),), (False, None), id="any name but this"),
        pytest.param((on_field("metadata.uid", "In", ""),), (True, None), id="an unknown field reads as empty"),
        pytest.param((on_label("a", "Bogus"),), (False, BOGUS_ERROR), id="an error shows when nothing matches"),
        pytest.param(
            (on_label("a", "Bogus"), on_label("zone", "Exists")), (True, None), id="an error hides behind a match"
        ),
        pytest.param(
            (on_field("metadata.name", "In", "n1", "n2"),),
            (
                False,
                'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["n1","n2"]: must have one element',
            ),
            id="a field takes one value",
        ),
        pytest.param(
            (NodeSelectorTerm(), on_label("zone", "In")),
            (
                False,
                "nodeSelectorTerms[1].matchExpressions[0].values: Invalid value: []: "
                "for 'in', 'notin' operators, values set can't be empty",
            ),
            id="errors name the term as written",
        ),
        pytest.param(
            (NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="zone", operator="In"),)),),
            (
                False,
                "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: "
                "for 'in', 'notin' operators, values set can't be empty",
            ),
            id="values that are not written are null",
        ),
        pytest.param(
            (NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key="metadata.name", operator="In"),)),),
            (False, "nodeSelectorTerms[0].matchFields[0].values: Invalid value: null: must have one element"),
            id="nor are those of a field",
        ),
    ],
)
def test_matching(terms: tuple[NodeSelectorTerm, ...], expected: tuple[bool, str | None]) -> None:
    selector = compile_node_selector(NodeSelector(node_selector_terms=terms))
    assert selector.match("n1", {"zone": "a", "cpu": "4"}) == expected


def test_a_selector_is_printed_as_upstream_prints_it() -> None:
    zone = NodeSelectorRequirement(key="zone", operator="In", values=("a", "b"))
    name = NodeSelectorRequirement(key="metadata.name", operator="Exists")
    selector = NodeSelector(
        node_selector_terms=(NodeSelectorTerm(match_expressions=(zone,)), NodeSelectorTerm(match_fields=(name,)))
    )
    assert printed(selector) == (
        "&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{"
        "NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{"
        "NodeSelectorRequirement{Key:zone,Operator:In,Values:[a b],},},MatchFields:[]NodeSelectorRequirement{},},"
        "NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{},MatchFields:[]NodeSelectorRequirement{"
        "NodeSelectorRequirement{Key:metadata.name,Operator:Exists,Values:[],},},},},}"
    )


def test_fields_are_not_asked_of_a_node_without_a_name() -> None:
    selector = compile_node_selector(NodeSelector(node_selector_terms=(on_field("metadata.name", "In", "n1"),)))
    assert selector.match("", {}) == (True, None)


def test_equal_selectors_share_their_compilation() -> None:
    first = NodeSelector(node_selector_terms=(on_label("zone", "In", "a"),))
    second = NodeSelector(node_selector_terms=(on_label("zone", "In", "a"),))
    assert compile_node_selector(first) is compile_node_selector(second)


def test_preferences_add_up_and_weightless_ones_are_not_even_read() -> None:
    terms = compile_preferred_terms(
        (
            PreferredSchedulingTerm(weight=5, preference=on_label("zone", "In", "a")),
            PreferredSchedulingTerm(weight=3, preference=on_label("disk", "Exists")),
            PreferredSchedulingTerm(weight=2, preference=on_field("metadata.name", "In", "n1")),
            PreferredSchedulingTerm(weight=0, preference=on_label("a", "Bogus")),
            PreferredSchedulingTerm(weight=9, preference=NodeSelectorTerm()),
        )
    )
    assert [each.weight for each in terms if each.term.matches("n1", {"zone": "a"})] == [5, 2]
    assert [each.weight for each in terms if each.term.matches("n2", {"disk": ""})] == [3]


def test_an_invalid_preference_is_refused() -> None:
    with pytest.raises(SelectorError) as caught:
        compile_preferred_terms((PreferredSchedulingTerm(weight=1, preference=on_label("a", "Bogus")),))
    assert str(caught.value) == BOGUS_ERROR.replace("nodeSelectorTerms[0]", "[0]")
