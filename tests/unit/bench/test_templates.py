"""Templates of workloads mean what Go's text/template makes of them; what is not known is refused."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.bench.parameters import WorkloadError
from stowplan.bench.templates import Template


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        pytest.param("a: b\n", {}, "a: b\n", id="text without actions stays as it is"),
        pytest.param("pod-{{.Index}}-{{ .Index }}", {"Index": 7}, "pod-7-7", id="a field, with and without spaces"),
        pytest.param("{{Mod .Index 12}}", {"Index": 30}, "6", id="the rest of a division"),
        pytest.param("{{Mod .Index 12}}", {"Index": -1}, "-1", id="a rest has the sign of what is divided"),
        pytest.param("{{DivideInt 30000 .Count}}", {"Count": 7}, "4285", id="a division is cut off"),
        pytest.param("{{DivideInt -7 2}}", {}, "-3", id="also below zero"),
        pytest.param("{{AddInt 7000 (Mod .Index (DivideInt .pods .nodes))}}", {"Index": 5, "pods": 8, "nodes": 2},
                     "7001", id="calls in brackets"),
        pytest.param("{{$n := or .n 3}}{{range $i := ($n | Int)}}{{$i}};{{end}}", {}, "0;1;2;", id="a range by name"),
        pytest.param("{{range (.n | Int)}}<{{.}}>{{end}}", {"n": 2}, "<0><1>", id="a range without a name is the dot"),
        pytest.param("{{range .n}}x{{else}}none{{end}}", {"n": 0}, "none", id="a range over nothing"),
        pytest.param("{{if .p}}yes{{else}}no{{end}}", {}, "no", id="what is missing is false"),
        pytest.param("{{if .p}}yes{{else}}no{{end}}", {"p": 0}, "no", id="so is zero"),
        pytest.param('{{if eq .m "single"}}one{{end}}', {"m": "single"}, "one", id="a text is compared"),
        pytest.param("{{if ge .n 3}}many{{else}}few{{end}}", {"n": 2}, "few", id="a number is compared"),
        pytest.param("{{.s | JSON}}", {"s": ["a", {"b": 1}]}, '["a",{"b":1}]', id="a value as JSON"),
        pytest.param("{{(or .s nil) | JSON}}", {}, "null", id="nothing as JSON"),
        pytest.param("{{.f}}", {"f": 2.0}, "2", id="a whole number is written without a point"),
        pytest.param("a {{- .Index -}} b", {"Index": 1}, "a1b", id="space is trimmed where a dash asks for it"),
    ],
)  # fmt: skip
def test_a_template_is_rendered_as_go_renders_it(text: str, env: dict[str, Any], expected: str) -> None:
    assert Template(text).render(env) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{{.cpu}}", "has no value", id="a value that nobody gives"),
        pytest.param("{{Upper .Index}}", "'Upper' is nothing that is known here", id="a function that is not there"),
        pytest.param("{{.Index | Upper}}", "'Upper' is no function", id="a pipe into nothing"),
        pytest.param("{{$x}}", r"'\$x' is nothing that is known here", id="a variable that was not set"),
        pytest.param("{{if .Index}}", "has no {{end}}", id="an if without an end"),
        pytest.param("{{end}}", "ends nothing", id="an end of nothing"),
        pytest.param("{{if .Index}}{{else if .p}}{{end}}", "nest an if", id="an else with a condition"),
        pytest.param("{{range .s}}{{end}}", "only whole numbers", id="a range over a text"),
        pytest.param("{{DivideInt 1 0}}", "division by zero", id="a division by zero"),
        pytest.param("{{(AddInt 1 2}}", "a bracket is not closed", id="an open bracket"),
        pytest.param("{{.Index & 1}}", "is not known here", id="an operator"),
    ],
)
def test_what_is_not_known_is_refused(text: str, problem: str) -> None:
    with pytest.raises(WorkloadError, match=problem):
        Template(text).render({"Index": 1, "s": "text"})
