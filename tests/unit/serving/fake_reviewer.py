"""An API server that knows a few tokens and what a few users may see."""

from collections.abc import Mapping

from stowplan.serving.authentication import AccessRequest, AccessReview, UserInfo


class FakeReviewer:
    """Answers from what it was given, and counts the questions; with `is_down` it cannot be asked."""

    def __init__(self) -> None:
        self.tokens: dict[str, UserInfo] = {}
        self.allowed: set[tuple[str, str, str]] = set()
        self.config: Mapping[str, str] = {}
        self.is_down = False
        self.asked = 0

    async def review_token(self, token: str) -> UserInfo | None:
        self._count()
        return self.tokens.get(token)

    async def review_access(self, request: AccessRequest) -> AccessReview:
        self._count()
        is_allowed = (request.user.name, request.verb, request.path) in self.allowed
        return AccessReview(is_allowed, "" if is_allowed else "no rule")

    async def authentication_config(self) -> Mapping[str, str]:
        self._count()
        return self.config

    def _count(self) -> None:
        self.asked += 1
        if self.is_down:
            raise ConnectionError("connection refused")
