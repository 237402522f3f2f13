"""A request as it came in, in which form it wants its answer, and that answer. `http.server` translates both."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import msgspec

from stowplan.embedded.identity.users import ANONYMOUS, User
from stowplan.embedded.objects import yaml_worker
from stowplan.embedded.objects.errors import StatusError, bad_request
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.patching import MAX_MANAGER_BYTES, manager_name
from stowplan.embedded.patching.patch import APPLY_PATCH
from stowplan.embedded.protobuf import reading as protobuf
from stowplan.embedded.requests.request import Options
from stowplan.model import json_values
from stowplan.model.label_syntax import quoted

JSON: Final = "application/json"
_YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")
_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False", ""))
#: Clients of Kubernetes that may leave out what a body is, as API servers let them: the official one for Python, and
#: what uses client-go, such as `kubectl create --raw`. No page can call itself that without asking first.
_MEANS_JSON: Final = re.compile(r"OpenAPI-Generator/|\S+ \(\w+/\w+\) kubernetes/")
_LARGEST: Final = 2**63 - 1
#: The slowest YAML takes 10 ms for a kibibyte.
_LONGEST_YAML_AT_ONCE_BYTES: Final = 4 * 1024
#: Sees that something is JSON, and makes nothing of it.
_LOOKER: Final = msgspec.json.Decoder(msgspec.Raw)
JSON_RANGES: Final = (JSON, "application/*", "*/*")
_META_GROUP: Final = "meta.k8s.io"


class Incoming(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    path: str
    query: dict[str, str] = {}
    accept: str = ""
    content_type: str = ""
    body: bytes = b""
    user: User = ANONYMOUS
    #: Host and port by which the client reached this server.
    address: str = ""
    user_agent: str = ""

    def text(self, name: str) -> str:
        return self.query.get(name, "")

    def flag(self, name: str) -> bool | None:
        """A parameter that is true or false; None if it is not given. Raise StatusError 400 if it is neither."""
        value = self.query.get(name)
        if value is None:
            return None
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
        raise bad_request(f'{name}: strconv.ParseBool: parsing "{value}": invalid syntax')

    def number(self, name: str) -> int | None:
        """A parameter that is a whole number; None if it is not given. Raise StatusError 400 if it is not one."""
        value = self.query.get(name, "")
        if not value:
            return None
        digits = value[1:] if value[0] in "+-" else value
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and abs(int(value)) <= _LARGEST):
            raise bad_request(f'{name}: strconv.ParseInt: parsing "{value}": invalid syntax')
        return int(value)

    def options(self) -> Options:
        """How a change is to be made. Raise StatusError if that is said in a way that is not understood."""
        if not self.query:
            return Options(False, manager_name("", self.user_agent), self.user, sent=self.body)
        dry_run = self.query.get("dryRun")
        if dry_run not in (None, "", "All"):
            raise _invalid(f'dryRun: Unsupported value: "{dry_run}": supported values: "All"')
        validation = self.query.get("fieldValidation", "")
        if validation not in ("", "Ignore", "Warn", "Strict"):
            listed = '"", "Ignore", "Strict", "Warn"'
            raise _invalid(f'fieldValidation: Unsupported value: "{validation}": supported values: {listed}')
        named = self.text("fieldManager")
        if len(named.encode(errors="replace")) > MAX_MANAGER_BYTES:
            raise _invalid(f"fieldManager: Too long: may not be more than {MAX_MANAGER_BYTES} bytes")
        if not named.isprintable():
            raise _invalid(f"fieldManager: Invalid value: {quoted(named)}: should only contain printable characters")
        manager = manager_name(named, self.user_agent)
        return Options(
            dry_run == "All",
            manager,
            self.user,
            field_validation=validation,
            sent=self.body,
            is_tracked=bool(named),
        )

    def content(self) -> Object:
        """The body as an object. Raise StatusError if it is none, or in a format that is not understood."""
        # What the body is. One that does not say so is what a web page can send without asking first.
        named = self.content_type.partition(";")[0].strip().lower()
        content = self._decoded(JSON if not named and _MEANS_JSON.match(self.user_agent) else named)
        if not isinstance(content, dict):
            raise bad_request("the body of the request is not an object: send one as JSON or YAML")
        return content

    def _decoded(self, media_type: str) -> Any:
        try:
            if media_type == JSON:
                return json_values.read(self.body)
            if media_type in _YAML:
                return json_values.read(self.body if is_json(self.body) else yaml_worker.converted(self.body))
            if media_type == protobuf.MEDIA_TYPE:
                return protobuf.read(self.body)
        except (ValueError, TypeError, RecursionError) as error:
            # Among them text that is not UTF-8, and values of YAML that JSON does not have.
            raise bad_request(f"the object provided is unrecognized: {error}") from None
        accepted = ", ".join((JSON, _YAML[0], protobuf.MEDIA_TYPE))
        problem = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        remedy = "" if self.content_type else f"; the request has no Content-Type: send {JSON} if the body is JSON"
        raise StatusError(415, "UnsupportedMediaType", problem + remedy)


def is_long_yaml(request: Incoming) -> bool:
    """Whether the body is to be read in YAML, and may take longer at that than others should wait."""
    if len(request.body) <= _LONGEST_YAML_AT_ONCE_BYTES or request.method in ("GET", "HEAD"):
        return False
    media_type = request.content_type.partition(";")[0].strip().lower()
    # What kubectl sends as an apply is JSON, whatever it calls it.
    return media_type in (*_YAML, APPLY_PATCH) and not is_json(request.body)


def in_json(request: Incoming, body: bytes) -> Incoming:
    """The same request with a body that has been turned into JSON."""
    is_apply = request.content_type.partition(";")[0].strip() == APPLY_PATCH
    return msgspec.structs.replace(request, body=body, content_type=APPLY_PATCH if is_apply else JSON)


def is_json(body: bytes) -> bool:
    """Whether a body is JSON, which takes a fraction of the time that it takes to decode it."""
    try:
        _LOOKER.decode(body)
    except (ValueError, RecursionError):
        return False
    return True


class Answer(msgspec.Struct, frozen=True):
    """A complete answer."""

    code: int
    body: bytes
    content_type: str = JSON
    #: What is worth telling the client though the request succeeded.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Later:
    """An answer that takes longer than others should wait for: it is worked out beside them.

    `work` is called once, when the connection has nothing else to do, and cancelled if the client leaves. It may raise
    what is raised by whoever answers at once.
    """

    work: Callable[[], Coroutine[Any, Any, Answer]]


def refusal(error: StatusError) -> Answer:
    return Answer(error.code, msgspec.json.encode(error.status()))


def _invalid(problem: str) -> StatusError:
    return StatusError(422, "Invalid", f"the options of the request are invalid: {problem}")


class Form(Enum):
    """What an answer consists of."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


@lru_cache(maxsize=256)
def negotiate(accept: str) -> Form:
    """Choose the first form that can be given, all of them as JSON. Raise StatusError 406 if there is none."""
    if not accept:
        return Form.OBJECT
    for media_type, parameters in media_ranges(accept):
        form = _form(parameters) if media_type in JSON_RANGES else None
        if form is not None:
            return form
    raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {JSON}")


def _form(parameters: dict[str, str]) -> Form | None:
    wanted = parameters.get("as", "")
    if not wanted:
        return Form.OBJECT
    if parameters.get("g") != _META_GROUP or parameters.get("v") != "v1":
        return None
    return next((form for form in Form if form.value == wanted), None)


def media_ranges(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The media types of an Accept header with their parameters, in the order in which they are given."""
    for media_range in accept.split(","):
        media_type, *given = media_range.split(";")
        pairs = (parameter.partition("=")[::2] for parameter in given)
        yield media_type.strip(), {name.strip(): value.strip() for name, value in pairs}
