"""Health checks are told in the API server's words."""

import pytest

from stowplan.serving.zpages import Endpoint, HealthAnswer

GOOD = {"good": lambda: ""}
BAD = {"bad": lambda: "the disk is full"}


def ask(endpoint: Endpoint, excluded: tuple[str, ...] = (), is_verbose: bool = False) -> HealthAnswer:
    return endpoint.answer(lambda check, name, passed: None, excluded, is_verbose)


@pytest.mark.parametrize(
    ("endpoint", "excluded", "is_verbose", "expected"),
    [
        pytest.param(Endpoint("livez"), (), False, HealthAnswer(True, "ok"), id="all is well"),
        pytest.param(
            Endpoint("livez"),
            (),
            True,
            HealthAnswer(True, "[+]ping ok\nlivez check passed\n"),
            id="all is well, in detail",
        ),
        pytest.param(
            Endpoint("healthz", {}),
            (),
            True,
            HealthAnswer(True, "[+]ping ok\nhealthz check passed\n"),
            id="no checks at all",
        ),
        pytest.param(
            Endpoint("readyz", GOOD | BAD),
            (),
            False,
            HealthAnswer(False, "[+]good ok\n[-]bad failed: reason withheld\nreadyz check failed\n"),
            id="a failure is told in detail, but not why",
        ),
        pytest.param(
            Endpoint("readyz", GOOD | BAD), ("bad",), False, HealthAnswer(True, "ok"), id="the bad one left out"
        ),
        pytest.param(
            Endpoint("readyz", GOOD | BAD),
            ("bad", "zebra", "ape"),
            True,
            HealthAnswer(
                True,
                "[+]good ok\n[+]bad excluded: ok\n"
                'warn: some health checks cannot be excluded: no matches for "ape","zebra"\nreadyz check passed\n',
            ),
            id="unknown ones left out",
        ),
    ],
)
def test_an_endpoint_answers_for_its_checks(
    endpoint: Endpoint, excluded: tuple[str, ...], is_verbose: bool, expected: HealthAnswer
) -> None:
    assert ask(endpoint, excluded, is_verbose) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("good", HealthAnswer(True, "ok"), id="passed"),
        pytest.param(
            "bad", HealthAnswer(False, "internal server error: the disk is full\n"), id="failed, with the reason"
        ),
        pytest.param("other", None, id="unknown"),
    ],
)
def test_a_single_check_tells_why(name: str, expected: HealthAnswer | None) -> None:
    assert Endpoint("readyz", GOOD | BAD).answer_one(name) == expected


def test_checks_that_were_made_are_observed() -> None:
    seen: list[tuple[str, str, bool]] = []
    Endpoint("readyz", GOOD | BAD).answer(lambda *result: seen.append(result), ("good",))
    assert seen == [("bad", "readyz", False)]
