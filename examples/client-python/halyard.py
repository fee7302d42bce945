"""A client of the Halyard wire protocol, version 1: requests, progress, and channels that resume. Written from docs/protocol.md."""

import asyncio
import json
import random
import re
from typing import Any, Callable

import websocket

PROTOCOL = "halyard.v1.json"
#: Codes that are worth a retry, unless the frame says otherwise.
RETRYABLE = {"ABORTED", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}
#: After these closes, the client does not connect again.
FINAL_CLOSES = {1008, 4401, 4403}
NOTHING: Any = object()


class WireError(Exception):
    """An error of the server, or of the connection."""

    def __init__(self, code: str, message: str = "", retryable: bool | None = None, retry_after_ms: float = 0):
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.retryable = code in RETRYABLE if retryable is None else retryable
        self.retry_after_ms = retry_after_ms

    @staticmethod
    def of(payload: Any) -> "WireError":
        fields = payload if isinstance(payload, dict) else {}
        code = fields.get("code")
        return WireError(
            code if isinstance(code, str) else "INTERNAL",
            str(fields.get("message", "")),
            fields["retryable"] if isinstance(fields.get("retryable"), bool) else None,
            fields["retryAfterMs"] if isinstance(fields.get("retryAfterMs"), (int, float)) else 0,
        )


class Call:
    """A request in flight. `await call.response` gives the whole frame; `call.progress` has what came before it."""

    def __init__(self, on_progress: Callable[[Any], None] | None):
        self.response: asyncio.Future[dict] = asyncio.get_running_loop().create_future()
        self.progress: list[Any] = []
        self.on_progress = on_progress


class Room:
    """A joined channel. It joins again after every reconnection, at its last position."""

    def __init__(self, client: "Client", channel: str, params: dict, last: int | None):
        self._client = client
        self._place = {"channel": channel, "params": params}
        self._last = last
        self._join_id: str | None = None
        self._topic: str | None = None
        self._position: dict | None = None
        self._attempt = 0
        #: `joining`, `joined`, `refused` or `left`.
        self.state = "joining"
        self.error: WireError | None = None
        self.on_message: Callable[[str, Any], None] = lambda type, payload: None
        self.on_gap: Callable[[str], None] = lambda reason: None

    def leave(self) -> None:
        was_member = self._topic is not None
        self.state, self._topic = "left", None
        if was_member:
            self._send_leave()
        elif self._join_id is None:
            self._client.rooms.discard(self)

    def _send_leave(self) -> None:
        self._client.rooms.discard(self)
        self._client.send("$ws:leave", self._place, correlationId=self._client.next_id())

    def join(self) -> None:
        if self.state in ("left", "refused"):
            return
        self.state, self._topic = "joining", None
        self._join_id = self._client.next_id()
        start = {"position": self._position} if self._position else {"last": self._last} if self._last else {}
        self._client.send("$ws:join", {**self._place, **start}, correlationId=self._join_id)

    def lost(self) -> None:
        self._topic = self._join_id = None
        if self.state == "joined":
            self.state = "joining"

    def control(self, type: str, meta: dict, payload: dict) -> None:
        if self._join_id is not None and meta.get("correlationId") == self._join_id:
            self._join_id = None
            if self.state == "left":  # before the server answered
                self._send_leave()
            elif type == "$ws:joined":
                self._topic = payload.get("topic")
                self._position = position_of(payload)
                self.state, self.error, self._attempt = "joined", None, 0
            elif type == "$ws:error":
                self._failed(WireError.of(payload), "refused")
        elif self._topic is None or payload.get("topic") != self._topic:
            return
        elif type == "$ws:left" and "correlationId" not in meta:
            self._topic = None
            error = WireError.of(payload)
            self._failed(error if error.code == "UNAVAILABLE" else WireError(error.code, retryable=False), "left")
        elif type == "$ws:gap":
            self._position = position_of(payload) or self._position
            self.on_gap(str(payload.get("reason")))

    def message(self, type: str, meta: dict, payload: Any) -> None:
        if self._topic is None or meta.get("$t") != self._topic:
            return
        epoch, offset = meta.get("$e"), meta.get("$o")
        if self._position and isinstance(epoch, str) and isinstance(offset, int):
            is_same = epoch == self._position["epoch"]
            if is_same and offset <= self._position["offset"]:
                return  # received before the connection was lost
            # Offset 0 is the position in an empty history, whose first message begins an epoch.
            if offset > self._position["offset"] + 1 or (not is_same and self._position["offset"] > 0):
                self.on_gap("retention" if is_same else "epoch")
            self._position = {"epoch": epoch, "offset": offset}
        if meta.get("$x") not in self._client.client_ids:
            self.on_message(type, payload)

    def _failed(self, error: WireError, final: str) -> None:
        self.error = error
        if not error.retryable:
            self.state = final
            self._client.rooms.discard(self)
            return
        self.state = "joining"
        delay = max(error.retry_after_ms / 1_000, backoff(self._attempt))
        self._attempt += 1
        asyncio.get_running_loop().call_later(delay, self.join)


class Client:
    """Keeps one connection to a server open. Use it as `async with Client(url) as client`."""

    def __init__(self, url: str, token: str | None = None):
        self._url = url
        self._token = token
        self._socket: websocket.WebSocket | None = None
        self._calls: dict[str, Call] = {}
        self._ids = 0
        self._task: asyncio.Task | None = None
        self._opened = asyncio.Event()
        self.rooms: set[Room] = set()
        #: Every id that this client had, because messages can exclude one.
        self.client_ids: set[str] = set()
        self.is_open = False
        #: Why the client does not connect again.
        self.ended: websocket.Closed | None = None
        self.on_event: Callable[[str, Any], None] = lambda type, payload: None

    async def __aenter__(self) -> "Client":
        self._task = asyncio.create_task(self._run())
        await self._opened.wait()
        if self.ended:
            raise self.ended
        return self

    async def __aexit__(self, *_: Any) -> None:
        if self._task:
            self._task.cancel()
        if self._socket:
            self._socket.close()
        self._fail_calls(WireError("CANCELLED", "the client was closed"))

    # --- what an application calls ---

    def call(self, type: str, payload: Any = NOTHING, timeout_ms: float = 30_000, on_progress=None) -> Call:
        """Sends a request. It is never sent a second time."""
        call = Call(on_progress)
        if not self.is_open:
            call.response.set_exception(WireError("UNAVAILABLE", "there is no connection"))
            return call
        id = self.next_id()
        self._calls[id] = call
        self.send(type, payload, correlationId=id, timeoutMs=timeout_ms)
        timer = asyncio.get_running_loop().call_later(timeout_ms / 1_000, self._time_out, id)
        call.response.add_done_callback(lambda _: timer.cancel())
        return call

    async def request(self, type: str, payload: Any = NOTHING, **options: Any) -> dict:
        return await self.call(type, payload, **options).response

    def join(self, channel: str, params: dict, last: int | None = None) -> Room:
        room = Room(self, channel, params, last)
        self.rooms.add(room)
        if self.is_open:
            room.join()
        return room

    # --- the connection ---

    def next_id(self) -> str:
        self._ids += 1
        return str(self._ids)

    def send(self, type: str, payload: Any = NOTHING, **meta: Any) -> None:
        frame = {"type": type, "meta": meta, **({} if payload is NOTHING else {"payload": payload})}
        if self._socket:
            self._socket.send(json.dumps(frame))

    async def _run(self) -> None:
        attempt = 0
        while not self.ended:
            try:
                await self._connect()
                attempt = 0
                while True:
                    self._receive(await self._socket.receive())
            except websocket.Closed as closed:
                self._lost(closed)
                if self.ended:
                    break
                asked = re.fullmatch(r"retryAfterMs=(\d+)", closed.reason)
                await asyncio.sleep(max(int(asked[1]) / 1_000 if asked else 0, backoff(attempt)))
                attempt += 1
            except OSError:
                await asyncio.sleep(backoff(attempt))
                attempt += 1
        self._opened.set()

    async def _connect(self) -> None:
        bearer = [f"bearer.{self._token}"] if self._token else []
        self._socket, selected = await websocket.connect(self._url, [PROTOCOL, *bearer])
        if selected != PROTOCOL:
            raise websocket.Closed(1008, "the server does not speak this protocol")

    def _lost(self, closed: websocket.Closed) -> None:
        self.is_open, self._socket = False, None
        if closed.code in FINAL_CLOSES:
            self.ended = closed
        for room in self.rooms:
            room.lost()
        self._fail_calls(WireError("UNAVAILABLE", "the connection was lost; the request may have run"))

    def _fail_calls(self, error: WireError) -> None:
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.response.done():
                call.response.set_exception(error)

    def _time_out(self, id: str) -> None:
        call = self._calls.pop(id, None)
        if call and not call.response.done():
            self.send("$ws:abort", correlationId=id)
            call.response.set_exception(WireError("DEADLINE_EXCEEDED"))

    def _receive(self, text: str) -> None:
        try:
            frame = json.loads(text)
            type, meta, payload = frame["type"], frame.get("meta", {}), frame.get("payload")
            if not isinstance(type, str) or not isinstance(meta, dict):
                return
        except (ValueError, TypeError, KeyError, AttributeError):
            return
        fields = payload if isinstance(payload, dict) else {}
        if type == "$ws:hello":
            self._hello(fields)
        elif type == "$ws:sync":
            self.send("$ws:synced", {"id": fields.get("id")})
        elif self._answers(type, meta, frame, payload):
            return
        elif type.startswith("$ws:"):
            for room in list(self.rooms):
                room.control(type, meta, fields)
        elif "$t" in meta:
            for room in list(self.rooms):
                room.message(type, meta, payload)
        else:
            self.on_event(type, payload)

    def _hello(self, hello: dict) -> None:
        self.client_ids.add(hello.get("clientId"))
        self.is_open = True
        self._opened.set()
        for room in list(self.rooms):
            room.join()

    def _answers(self, type: str, meta: dict, frame: dict, payload: Any) -> bool:
        """Whether the frame belongs to a request."""
        id = meta.get("correlationId")
        call = self._calls.get(id) if isinstance(id, str) else None
        if call is None:
            return False
        if type == "$ws:rpc-progress":
            call.progress.append(payload)
            if call.on_progress:
                call.on_progress(payload)
            return True
        del self._calls[id]
        if type == "$ws:error":
            call.response.set_exception(WireError.of(payload))
        else:
            call.response.set_result(frame)
        return True


def position_of(payload: dict) -> dict | None:
    position = payload.get("position")
    if not isinstance(position, dict):
        return None
    epoch, offset = position.get("epoch"), position.get("offset")
    return {"epoch": epoch, "offset": offset} if isinstance(epoch, str) and isinstance(offset, int) else None


def backoff(attempt: int) -> float:
    """Seconds: doubles up to 30 s, with full jitter."""
    return random.uniform(0, min(30, 0.1 * 2**attempt))
