"""What a client tells of its requests becomes metrics."""

from __future__ import annotations

import pytest

from stowplan.app.clients import told_to
from stowplan.kube.client import Exchange
from stowplan.observe.metrics import Metrics

HOST = 'host="api.test:6443"'


def told(exchange: Exchange) -> str:
    metrics = Metrics(lambda: 0)
    told_to(metrics.requests, "https://api.test:6443/base")(exchange)
    return metrics.text().decode()


@pytest.mark.parametrize(
    ("exchange", "lines"),
    [
        pytest.param(
            Exchange("POST", "/x", 201, 0.25, 0.5, 70, 90),
            [
                f'rest_client_requests_total{{code="201",{HOST},method="POST"}} 1.0',
                f'rest_client_request_duration_seconds_sum{{{HOST},verb="POST"}} 0.25',
                f'rest_client_rate_limiter_duration_seconds_sum{{{HOST},verb="POST"}} 0.5',
                f'rest_client_request_size_bytes_sum{{{HOST},verb="POST"}} 70.0',
                f'rest_client_response_size_bytes_sum{{{HOST},verb="POST"}} 90.0',
            ],
            id="an answer",
        ),
        pytest.param(
            Exchange("GET", "/x", 0, 1.0, 0.0, 0),
            [f'rest_client_requests_total{{code="<error>",{HOST},method="GET"}} 1.0'],
            id="no answer",
        ),
        pytest.param(
            Exchange("GET", "/x", 200, 1.0, 0.0, 0, 5, 429),
            [f'rest_client_request_retries_total{{code="429",{HOST},verb="GET"}} 1.0'],
            id="sent again after the server was busy",
        ),
        pytest.param(
            Exchange("GET", "/x", 200, 1.0, 0.0, 0, 5, 0),
            [f'rest_client_request_retries_total{{code="<error>",{HOST},verb="GET"}} 1.0'],
            id="sent again after there was no answer",
        ),
    ],
)
def test_an_exchange_is_counted(exchange: Exchange, lines: list[str]) -> None:
    text = told(exchange).splitlines()
    assert [line for line in lines if line not in text] == []


def test_a_request_that_is_sent_once_is_no_retry() -> None:
    assert "rest_client_request_retries_total" not in told(Exchange("GET", "/x", 200, 1.0, 0.0, 0, 5))
