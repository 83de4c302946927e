"""Who calls: a key in a header, or a browser's session; checked before anything of the body is read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from askless.service.config import is_loopback
from askless.service.errors import headers_of, problem
from askless.service.keys import Caller, Role, hashed
from askless.service.pages.paths import LOGIN, is_asset, is_page

if TYPE_CHECKING:
    from askless.service.state import Service

COOKIE = "askless_session"
CSRF_HEADER = "X-Requested-With"
CSRF_VALUE = "askless"
SESSION_PATH = "/api/v1/session"

_FREE = frozenset({"/healthz", "/readyz", "/openapi.json"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
_LONGEST_SECRET = 200
_MOST_GOOD = 10_000


class Gate:
    """Middleware: puts the caller into the request's state, or answers 401, 403 or 429 itself."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service
        self._good: set[str] = set()  # hashes of secrets that were in force when they were last looked for

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        if scope["type"] != "http" or scope["path"] in _FREE or is_asset(scope["path"]):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        state = scope["state"]
        address = _address(scope)
        given = _credentials(headers)
        rate = self.service.rate
        strange = given is not None and self._is_strange(*given)
        wait = rate.wait(address) if strange else 0
        if not wait:
            caller = await self._caller(scope, headers, given)
            if caller is not None:
                wait = rate.wait(f"key {caller.name}")
            elif not strange:  # else it is counted already
                wait = rate.wait(address)
        refused: Response
        if wait:
            detail = (
                f"Too many requests: at most {self.service.config.rate:g} a second, counted over "
                f"{self.service.config.burst_seconds} s. Come again in {wait} s."
            )
            refused = problem(429, detail, state["request_id"], headers={"Retry-After": str(wait)})
        elif self._needs_login(scope, caller):
            refused = _to_login(scope, caller)
        elif caller is None and not self._is_login(scope) and not self._is_local_metrics(scope, headers):
            detail = "This needs a key that is in force: send it as `Authorization: Bearer KEY`."
            refused = problem(401, detail, state["request_id"], headers=headers_of(401))
        elif caller is not None and caller.session and _lacks_csrf_header(scope, headers):
            detail = f"A change asked for by a browser's session needs the header {CSRF_HEADER}: {CSRF_VALUE}."
            refused = problem(403, detail, state["request_id"])
        else:
            state["caller"] = caller
            state["credentials"] = given
            state["service"] = self.service
            await self.app(scope, receive, send)
            return
        await refused(scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The connection behind a page: for who has opened it, and from a page of this site alone."""
        headers = Headers(scope=scope)
        given = _credentials(headers)
        strange = given is not None and self._is_strange(*given)
        allowed = _is_own(headers) and not (strange and self.service.rate.wait(_address(scope)))
        caller = await self._caller(scope, headers, given) if allowed else None
        if caller is None or not caller.may(Role.EXPERT) or not _owns(scope, given):
            await WebSocketClose(1008, "Log in first.")(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _is_strange(self, secret: str, session: bool) -> bool:
        """Whether only the database can say who holds the secret, and nobody was known to.

        Such a request counts for its address before the database is asked. Keys that were right before do not, so that
        strangers behind the same proxy do not lock their holders out.
        """
        return self.service.keys.remembered(secret, session=session) is None and hashed(secret) not in self._good

    async def _caller(self, scope: Scope, headers: Headers, given: tuple[str, bool] | None) -> Caller | None:
        if given is not None:
            return await self._holder(*given)
        if (
            self.service.config.open
            and is_local(scope, headers)
            and not await self.service.work(self.service.keys.any_keys)
        ):
            return Caller("local", Role.ADMIN, session=True)
        return None

    async def _holder(self, secret: str, session: bool) -> Caller | None:
        if len(secret) > _LONGEST_SECRET:
            return None
        known = self.service.keys.remembered(secret, session=session)
        if known is not None:
            return known
        found = await self.service.work(lambda: self.service.keys.find(secret, session=session))
        if found is None:
            self._good.discard(hashed(secret))
            return None
        if len(self._good) >= _MOST_GOOD:
            self._good.clear()
        self._good.add(hashed(secret))
        return found

    def _needs_login(self, scope: Scope, caller: Caller | None) -> bool:
        pages = self.service.config.pages and is_page(scope["path"])
        return pages and (caller is None or not caller.may(Role.EXPERT))

    @staticmethod
    def _is_login(scope: Scope) -> bool:
        return bool(scope["path"] == SESSION_PATH and scope["method"] == "POST")

    @staticmethod
    def _is_local_metrics(scope: Scope, headers: Headers) -> bool:
        return scope["path"] == "/metrics" and _secret(headers) is None and is_local(scope, headers)


def _owns(scope: Scope, given: tuple[str, bool] | None) -> bool:
    """Whether the connection says for which page it is, and that page is the caller's own."""
    from askless.service.pages.seat import is_owner  # NiceGUI takes a second to load

    (client,) = parse_qs(scope["query_string"].decode("latin-1")).get("client_id", [""])[:1]
    return bool(client) and is_owner(client, given)


def _address(scope: Scope) -> str:
    """What requests without a known secret are counted under."""
    return f"address {scope['client'][0] if scope.get('client') else 'unknown'}"


def _to_login(scope: Scope, caller: Caller | None) -> Response:
    """To the login page, and from there back to the page that was asked for."""
    asked = {"next": scope["path"]} if scope["path"] != "/" else {}
    if caller is not None:
        asked["role"] = caller.role.value  # so that the page can say why this key does not open it
    return RedirectResponse(f"{LOGIN}?{urlencode(asked)}" if asked else LOGIN, 303)


def _is_own(headers: Headers) -> bool:
    """Whether a page of this site makes the connection: browsers send cookies with those of any other site too."""
    origin = headers.get("origin", "")
    return bool(origin) and urlsplit(origin).netloc == headers.get("host")


def is_local(scope: Scope, headers: Headers) -> bool:
    """Whether the request comes from this machine and was meant for it.

    A proxy on this machine speaks for others, so what it forwarded does not count as local; nor does a request whose
    host is another name, as a page of a stranger sends it once its own name leads here (DNS rebinding).
    """
    client = scope.get("client")
    if client is None or not is_loopback(client[0]) or any(name in headers for name in _FORWARDED):
        return False
    host = headers.get("host", "")
    bare = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
    return is_loopback(bare)


def _credentials(headers: Headers) -> tuple[str, bool] | None:
    """The secret of the request, and whether it is a session's.

    A key in a header counts before a cookie; a wrong one is not made good by the other.
    """
    secret = _secret(headers)
    if secret is not None:
        return secret, False
    token = cookie_parser(headers.get("cookie", "")).get(COOKIE)
    return (token, True) if token else None


def _secret(headers: Headers) -> str | None:
    """The key of the request: a bearer token, X-API-Key, or the password of HTTP Basic (for Label Studio)."""
    given = headers.get("authorization")
    if given is None:
        return headers.get("x-api-key")
    scheme, _, rest = given.partition(" ")
    if scheme.lower() == "basic":
        return _basic_password(rest)
    return rest.strip() if scheme.lower() == "bearer" else ""


def _basic_password(encoded: str) -> str:
    import base64
    import binascii

    try:
        return base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _lacks_csrf_header(scope: Scope, headers: Headers) -> bool:
    return scope["method"] not in _SAFE and headers.get(CSRF_HEADER, "").lower() != CSRF_VALUE
