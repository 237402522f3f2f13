"""An extender to test against, as a process of its own: the first part of the path says how it behaves.

    python extender_server.py [--certificate PEM [--client-authority PEM]]

It prints its port and serves until it is ended. `GET /requests` returns what it was asked: path, body, and the port of
the client, by which connections are told apart.
"""

from __future__ import annotations

import argparse
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BLOCK = b" " * 2**20
HUGE_BLOCKS = 80


class Handler(BaseHTTPRequestHandler):
    """Answers POST by behaviour and verb; connections stay open."""

    protocol_version = "HTTP/1.1"
    asked: list[dict[str, Any]] = []  # noqa: RUF012 - one server a process
    lock = threading.Lock()

    def do_GET(self) -> None:
        with self.lock:
            self._reply(json.dumps(self.asked).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = self.headers["Content-Type"]
        with self.lock:
            self.asked.append({"path": self.path, "type": kind, "body": body, "client": self.client_address[1]})
        behaviour, verb = self.path.strip("/").split("/")
        if behaviour in BROKEN:
            BROKEN[behaviour](self)
        else:
            self._reply(json.dumps(spelled(behaviour, VERBS[verb](body))).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def filter_nodes(body: dict[str, Any]) -> dict[str, Any]:
    """Let nodes through whose name starts with "good"; "bad" ones fail, others are beyond help."""
    listed, names = (body["Nodes"] or {}).get("items", []), names_in(body)
    answer: dict[str, Any] = {
        "FailedNodes": {name: "it is bad" for name in names if name.startswith("bad")},
        "FailedAndUnresolvableNodes": {
            name: "it is hopeless" for name in names if not name.startswith(("good", "bad"))
        },
    }
    if body["NodeNames"] is not None:
        answer["NodeNames"] = [name for name in names if name.startswith("good")]
    else:
        answer["Nodes"] = {"items": [node for node in listed if node["metadata"]["name"].startswith("good")]}
    return answer


def prioritize_nodes(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Score a node by the digit its name ends in."""
    return [{"Host": name, "Score": int(name[-1])} for name in names_in(body)]


def names_in(body: dict[str, Any]) -> list[str]:
    """Return the nodes that are asked about, whichever way they are given."""
    if body["NodeNames"] is not None:
        names: list[str] = body["NodeNames"]
        return names
    return [node["metadata"]["name"] for node in body["Nodes"]["items"]]


def bind_pod(body: dict[str, Any]) -> dict[str, Any]:
    return {"Error": "" if body["Node"].startswith("good") else f"{body['PodName']} does not go to {body['Node']}"}


def preempt_pods(body: dict[str, Any]) -> dict[str, Any]:
    """Agree to the first victim of each good node."""
    in_full, by_uid = body["NodeNameToVictims"], body["NodeNameToMetaVictims"]
    agreed = {}
    for name, victims in (in_full if by_uid is None else by_uid).items():
        first = victims["Pods"][0]
        uid = first["metadata"]["uid"] if by_uid is None else first["UID"]
        if name.startswith("good"):
            agreed[name] = {"Pods": [{"UID": uid}], "NumPDBViolations": victims["NumPDBViolations"]}
    return {"NodeNameToMetaVictims": agreed}


def spelled(behaviour: str, answer: Any) -> Any:
    """Write keys of the protocol as Go does, or with a small letter; the names of nodes stay."""
    if behaviour == "capital":
        return answer
    if isinstance(answer, list):
        return [spelled(behaviour, item) for item in answer]
    if isinstance(answer, dict):
        return {_small(key): spelled(behaviour, value) for key, value in answer.items()}
    return answer


def _small(key: str) -> str:
    return "uid" if key == "UID" else key[0].lower() + key[1:]


def fail(handler: Handler) -> None:
    handler.send_response(500)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def hang(handler: Handler) -> None:
    """Never answer."""
    threading.Event().wait()


def hang_half_way(handler: Handler) -> None:
    """Begin to answer, and never end."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"NodeNames": [')
    handler.wfile.flush()
    threading.Event().wait()


def cut_json(handler: Handler) -> None:
    handler._reply(b'{"NodeNames": ["good-1"')


def cut_body(handler: Handler) -> None:
    """Promise more than is sent, and hang up."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"NodeNames": ["good-1"]}')
    handler.close_connection = True


def be_huge(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(HUGE_BLOCKS * len(BLOCK)))
    handler.end_headers()
    try:
        for _ in range(HUGE_BLOCKS):
            handler.wfile.write(BLOCK)
    except OSError:
        handler.close_connection = True


def invent_a_node(handler: Handler) -> None:
    handler._reply(b'{"NodeNames": ["imagined"]}')


def say_nothing(handler: Handler) -> None:
    """Let nothing through, whatever is asked, without a word."""
    handler._reply(b'{"NodeNames": [], "NodeNameToMetaVictims": {}}')


def speak_of_strangers(handler: Handler) -> None:
    handler._reply(b'{"NodeNames": [], "FailedNodes": {"imagined": "it is bad"}}')


def object_to_it(handler: Handler) -> None:
    handler._reply(b'{"Error": "the moon is full"}')


def speak_of_no_victims(handler: Handler) -> None:
    handler._reply(b'{"NodeNameToMetaVictims": {"good-1": {"Pods": []}}}')


def speak_of_unknown_victims(handler: Handler) -> None:
    handler._reply(b'{"NodeNameToMetaVictims": {"good-1": {"Pods": [{"UID": "nobody"}]}}}')


def speak_of_unknown_nodes(handler: Handler) -> None:
    handler._reply(b'{"NodeNameToMetaVictims": {"imagined": {"Pods": [{"UID": "nobody"}]}}}')


VERBS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "filter": filter_nodes,
    "prioritize": prioritize_nodes,
    "bind": bind_pod,
    "preempt": preempt_pods,
}
BROKEN: dict[str, Callable[[Handler], None]] = {
    "failing": fail,
    "hanging": hang,
    "stalling": hang_half_way,
    "cut-json": cut_json,
    "cut-body": cut_body,
    "huge": be_huge,
    "inventing": invent_a_node,
    "silent": say_nothing,
    "strange": speak_of_strangers,
    "objecting": object_to_it,
    "no-victims": speak_of_no_victims,
    "unknown-victims": speak_of_unknown_victims,
    "unknown-nodes": speak_of_unknown_nodes,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate", default="")
    parser.add_argument("--client-authority", default="")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate)
        if options.client_authority:
            context.load_verify_locations(options.client_authority)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_address[1], flush=True)  # noqa: T201 - the one thing it has to say
    server.serve_forever()


if __name__ == "__main__":
    main()
