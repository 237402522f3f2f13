"""From a request to the call that answers it: which verb it is, and whether the resource knows that verb."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from stowplan.embedded import patching
from stowplan.embedded.admission import shapes
from stowplan.embedded.authorization import escalation
from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.http import pages, reviews
from stowplan.embedded.http.authentication import Authenticator
from stowplan.embedded.http.reviews import TOKEN_REQUEST, Reviews
from stowplan.embedded.objects.errors import StatusError, bad_request, method_not_allowed
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import APPLY_PATCH, Patch
from stowplan.embedded.registry import deletion, large_changes, pod_subresources, scale
from stowplan.embedded.registry.api import CREATED_BY_UPDATE, Api
from stowplan.embedded.registry.deletion import DeleteOptions
from stowplan.embedded.registry.large_changes import LargeChanges
from stowplan.embedded.requests import incoming, listing, watching
from stowplan.embedded.requests.incoming import Answer, Incoming, Later, refusal
from stowplan.embedded.requests.listing import Page
from stowplan.embedded.requests.rendering import Rendering
from stowplan.embedded.requests.request import Options, Target, find_target, nothing_there, split_path
from stowplan.embedded.requests.watching import Watch
from stowplan.embedded.storage.catalogue import unserved_subresource
from stowplan.embedded.storage.stored import Stored

#: How many objects of a collection are deleted while others wait.
_DELETED_AT_A_TIME: Final = 50
#: Of what is not kept as it came: questions, bindings, options.
_LARGEST_QUESTION_BYTES: Final = 64 * 1024
_ON_OBJECTS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_ON_COLLECTIONS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
#: What deleting these returns is the object, for everything else a word about it.
_SHOWN_WHEN_GONE: Final = frozenset(
    (
        "persistentvolumeclaims",
        "persistentvolumes",
        "podgroups.scheduling.k8s.io",
        "pods",
        "podtemplates",
        "resourceclaims.resource.k8s.io",
        "resourcequotas",
        "serviceaccounts",
        "services",
    )
)


class Verbs:
    """Answers requests; only a watch goes on after the answer, and what takes long is answered later."""

    def __init__(
        self,
        api: Api,
        authenticator: Authenticator,
        authorizer: Authorizer | None = None,
        *,
        has_watch_list: bool = True,
    ) -> None:
        self._api = api
        self._authorizer = authorizer
        self._has_watch_list = has_watch_list
        self._reviews = Reviews(api, authenticator, authorizer)
        self._large = LargeChanges(api)

    def answer(self, request: Incoming) -> Answer | Later | Watch:
        """Answer a request; one that is refused is answered with a Status."""
        try:
            if self._authorizer is not None:
                self._authorizer.check(request)
            return self._answer(request)
        except StatusError as error:
            return refusal(error)

    def _answer(self, request: Incoming) -> Answer | Later | Watch:
        segments = split_path(request.path)
        if request.method in ("GET", "HEAD"):
            page = pages.find(segments, request, self._api.catalogue)
            if page is not None:
                return page
        target = find_target(segments, self._api.catalogue)
        rendering = Rendering(
            target.resource, incoming.negotiate(request.accept), self._api.now, request.text("includeObject")
        )
        if target.subresource:
            return self._on_part(target, request, rendering)
        if target.name:
            return self._on_object(target, request, rendering)
        return self._on_collection(target, request, rendering)

    def _on_object(self, target: Target, request: Incoming, rendering: Rendering) -> Answer | Later | Watch:
        verb = _verb(_ON_OBJECTS, target, request)
        if verb == "get":
            if request.flag("watch"):
                return self._watch(target, request, rendering)
            return Answer(200, rendering.stored(self._api.found(target)))
        if verb == "delete":
            return self._delete(target, request, rendering)
        return self._change(target, request, rendering)

    def _on_collection(self, target: Target, request: Incoming, rendering: Rendering) -> Answer | Later | Watch:
        verb = _verb(_ON_COLLECTIONS, target, request)
        if verb == "create":
            return self._create(target, request, rendering)
        if verb == "deletecollection":
            return self._delete_all(target, request, rendering)
        if request.flag("watch"):
            return self._watch(target, request, rendering)
        if listing.is_long(self._api.store, target, request):
            return Later(partial(self._list_long, target, request, rendering))
        return Answer(200, rendering.page(listing.read_page(self._api.store, target, request)))

    async def _list_long(self, target: Target, request: Incoming, rendering: Rendering) -> Answer:
        page = await listing.read_long_page(self._api.store, target, request)
        return Answer(200, await rendering.long_page(page))

    def _watch(self, target: Target, request: Incoming, rendering: Rendering) -> Answer | Watch:
        if "watch" not in target.resource.verbs:
            raise method_not_allowed("watch", target.resource)
        if not self._has_watch_list and request.flag("sendInitialEvents") is not None:
            problem = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            raise listing.invalid_option("sendInitialEvents", f"Forbidden: {problem}")
        try:
            return watching.open_watch(self._api.store, target, request, rendering)
        except StatusError as error:
            if error.code != 410:
                raise
            # A watch that cannot begin where it should is told so in its own language.
            return Answer(200, watching.error_line(error))

    def _create(self, target: Target, request: Incoming, rendering: Rendering) -> Answer | Later:
        if target.resource.is_namespaced and not target.namespace:
            raise method_not_allowed("create", target.resource)
        if target.resource.group in reviews.REVIEWS:
            question = _question(target.resource, request)
            return Answer(201, rendering.obj(self._reviews.answer(target, question, request.user)))
        options = self._options(target, request)
        if target.resource.qualified == "bindings":
            return _granted(pod_subresources.bind(self._api, target, _small(request), options))
        if large_changes.is_large(target.resource, request.body, None, has_owners=options.is_tracked):
            return Later(partial(self._create_later, target, request, rendering, options))
        obj = self._api.insert(target, request.content(), options)
        return _made(201, rendering, obj, options)

    async def _create_later(self, target: Target, request: Incoming, rendering: Rendering, options: Options) -> Answer:
        return _made(201, rendering, await self._large.create(target, request.content, options), options)

    def _change(self, target: Target, request: Incoming, rendering: Rendering) -> Answer | Later:
        options = self._options(target, request)
        stored = self._api.store.get(target.resource, target.namespace, target.name)
        if self._authorizer is not None and stored is None and _creates(target, request):
            self._authorizer.check_creation(request)
        if large_changes.is_large(target.resource, request.body, stored, has_owners=_is_apply(request)):
            return Later(partial(self._change_later, target, request, rendering, options))
        if request.method == "PUT":
            obj = self._api.replace(target, request.content(), options)
        else:
            obj = self._api.amend(target, self._patch(target, request, options), options)
        return _made(201 if stored is None else 200, rendering, obj, options)

    async def _change_later(self, target: Target, request: Incoming, rendering: Rendering, options: Options) -> Answer:
        existed = self._api.store.get(target.resource, target.namespace, target.name) is not None
        wanted = request.content if request.method == "PUT" else self._patch(target, request, options)
        obj = await self._large.change(target, wanted, options)
        return _made(200 if existed else 201, rendering, obj, options)

    def _options(self, target: Target, request: Incoming) -> Options:
        """How a change is to be made, and what has to be asked before."""
        options = request.options()
        if self._authorizer is None:
            return options
        return replace(options, guard=escalation.guard(self._authorizer, request.user, target))

    def _patch(self, target: Target, request: Incoming, options: Options) -> Patch:
        is_apply = _is_apply(request)
        patch = Patch(
            request.content_type,
            request.body,
            # Who applies has to say so; a name made up from the program would own fields that nobody gives back.
            request.text("fieldManager") if is_apply else options.field_manager,
            request.flag("force"),
            target.subresource,
            self._api.now(),
        )
        # Whether there is anything to patch is told only to those who send a patch.
        patching.check_options(target.resource, patch)
        return patch

    def _delete(self, target: Target, request: Incoming, rendering: Rendering) -> Answer:
        how, options = _delete_options(request)
        removal = self._api.remove(target, how, options)
        if removal.is_gone and target.resource.qualified not in _SHOWN_WHEN_GONE:
            return Answer(200, msgspec.json.encode(_success(target.resource, removal.obj)))
        return Answer(200, rendering.obj(removal.obj))

    def _delete_all(self, target: Target, request: Incoming, rendering: Rendering) -> Answer | Later:
        how, options = _delete_options(request)
        page = listing.read_page(self._api.store, target, request)
        if len(page.items) > _DELETED_AT_A_TIME:
            return Later(partial(self._delete_very_many, page, how, options, rendering))
        self._delete_these(page.items, how, options, rendering)
        return Answer(200, rendering.page(page))

    async def _delete_very_many(self, page: Page, how: DeleteOptions, options: Options, rendering: Rendering) -> Answer:
        for start in range(0, len(page.items), _DELETED_AT_A_TIME):
            self._delete_these(page.items[start : start + _DELETED_AT_A_TIME], how, options, rendering)
            await asyncio.sleep(0)
        return Answer(200, await rendering.long_page(page))

    def _delete_these(self, items: list[Stored], how: DeleteOptions, options: Options, rendering: Rendering) -> None:
        resource = rendering.resource
        for stored in items:
            if self._api.store.get(resource, *stored.key) is not None:
                self._api.remove(Target(resource, *stored.key), how, options)

    def _on_part(self, target: Target, request: Incoming, rendering: Rendering) -> Answer | Later:
        _check_part(target)
        match request.method, target.subresource:
            case "GET", "approval" | "finalize" | "status":
                return Answer(200, rendering.stored(self._api.found(target)))
            case "PUT" | "PATCH", "approval" | "finalize" | "status":
                return self._change(target, request, rendering)
            case "POST", "binding":
                return _granted(pod_subresources.bind(self._api, target, _small(request), request.options()))
            case "POST", "eviction":
                return _granted(pod_subresources.evict(self._api, target, _small(request), request.options()))
            case "GET" | "PUT" | "PATCH", "scale":
                return Answer(200, replace(rendering, resource=scale.SCALES).obj(self._scale(target, request)))
            case "POST", "token":
                account = self._api.found(target)
                question = _question(TOKEN_REQUEST, request)
                return _granted(self._reviews.grant(question, account))
            case _, "resize":
                raise bad_request("pods are not resized in place in this cluster: replace the pod")
        raise method_not_allowed(request.method.lower(), target.resource)

    def _scale(self, target: Target, request: Incoming) -> Object:
        if request.method == "GET":
            return scale.read(self._api, target)
        options = request.options()
        if request.method == "PUT":
            return scale.replace(self._api, target, _small(request), options)
        return scale.amend(self._api, target, self._patch(target, request, options), options)


def _granted(obj: Object) -> Answer:
    return Answer(201, msgspec.json.encode(obj))


def _made(code: int, rendering: Rendering, obj: Object, options: Options) -> Answer:
    return Answer(code, rendering.obj(obj), warnings=tuple(options.warnings))


def _question(resource: Resource, request: Incoming) -> Object:
    """What is only answered, and not kept."""
    obj = _small(request)
    shapes.read(resource, obj)
    return obj


def _small(request: Incoming) -> Object:
    """What a request says that is not to be kept: nothing of that kind is large, so it is read at once."""
    if len(request.body) > _LARGEST_QUESTION_BYTES:
        problem = f"Request entity too large: limit is {_LARGEST_QUESTION_BYTES} for what is not kept"
        raise StatusError(413, "RequestEntityTooLarge", problem)
    return request.content()


def _verb(verbs: dict[str, str], target: Target, request: Incoming) -> str:
    verb = verbs.get(request.method, "")
    if verb not in target.resource.verbs:
        raise method_not_allowed(verb or request.method.lower(), target.resource)
    return verb


def _is_apply(request: Incoming) -> bool:
    return request.content_type.partition(";")[0].strip() == APPLY_PATCH


def _creates(target: Target, request: Incoming) -> bool:
    """Whether a change makes an object that is not there."""
    if target.subresource:
        return False
    return target.resource.qualified in CREATED_BY_UPDATE if request.method == "PUT" else _is_apply(request)


def _check_part(target: Target) -> None:
    """Refuse a part that is not served; say why if a real cluster would."""
    if target.subresource in target.resource.subresources:
        return
    problem = unserved_subresource(target.resource, target.subresource)
    raise nothing_there() if problem is None else bad_request(problem)


def _delete_options(request: Incoming) -> tuple[DeleteOptions, Options]:
    """How to delete: the body says it, the query where there is no body."""
    content: Object = {}
    if request.body.strip():
        content = _small(request)
    else:
        for name in ("gracePeriodSeconds", "orphanDependents", "propagationPolicy"):
            if request.text(name):
                content[name] = _READERS[name](request, name)
    how = deletion.read_options(content)
    options = request.options()
    if how.dryRun:
        if how.dryRun != ["All"]:
            raise bad_request(f'dryRun: Unsupported value: {how.dryRun}: supported values: "All"')
        options = replace(options, is_dry_run=True)
    return how, options


_READERS: Final[dict[str, Callable[[Incoming, str], object]]] = {
    "gracePeriodSeconds": Incoming.number,
    "orphanDependents": Incoming.flag,
    "propagationPolicy": Incoming.text,
}


def _success(resource: Resource, gone: Object) -> Object:
    metadata = gone["metadata"]
    details = {"name": metadata["name"], "group": resource.group, "kind": resource.plural, "uid": metadata["uid"]}
    if not resource.group:
        del details["group"]
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
