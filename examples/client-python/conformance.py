"""Runs docs/conformance/client.json on this client, with a server that only does what a case says."""

import asyncio
import json
import sys
from pathlib import Path

import halyard
import websocket

CASES = Path(__file__).parent / ".." / ".." / "docs" / "conformance" / "client.json"
HELLO = {
    "type": "$ws:hello",
    "meta": {"timestamp": 1},
    "payload": {"v": 1, "clientId": "client-1", "heartbeatMs": 0, "timeoutMs": 5000, "maxPayloadBytes": 1000000},
}
TIMEOUT_S = 10


def fill(value, before, after, variables):
    """Replaces the texts that name a variable by its value, also in keys."""

    def variable(text):
        if text.startswith(before) and text.endswith(after):
            return variables.get(text[len(before) : len(text) - len(after)], text)
        return text

    if isinstance(value, str):
        return variable(value)
    if isinstance(value, list):
        return [fill(item, before, after, variables) for item in value]
    if isinstance(value, dict):
        return {str(variable(key)): fill(item, before, after, variables) for key, item in value.items()}
    return value


def matches(value, pattern):
    if pattern == "*string":
        return isinstance(value, str)
    if pattern == "*number":
        return isinstance(value, (int, float))
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(matches(value.get(key), item) for key, item in pattern.items())
    return value == pattern


class Server:
    def __init__(self):
        self.frames = []
        self.connections = 0
        self.socket = None

    async def start(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader, writer):
        socket = await websocket.accept(reader, writer, halyard.PROTOCOL)
        self.socket = socket
        self.connections += 1
        socket.send(json.dumps(HELLO))
        try:
            while True:
                frame = json.loads(await socket.receive())
                if frame["type"] != "$ws:ping":
                    self.frames.append(frame)
        except (websocket.Closed, asyncio.CancelledError):
            pass

    def stop(self):
        if self.socket:
            self.socket.abort()
        self._server.close()


async def until(is_true, what):
    async def poll():
        while not is_true():
            await asyncio.sleep(0.002)

    try:
        await asyncio.wait_for(poll(), TIMEOUT_S)
    except asyncio.TimeoutError:
        raise AssertionError(what()) from None


async def run(steps):
    server = Server()
    port = await server.start()
    memory, calls, given = {}, {}, []
    room, connections_before = None, 0
    client = halyard.Client(f"ws://127.0.0.1:{port}/")
    try:
        await client.__aenter__()
        for step in steps:
            action, *rest = fill(step, "@", "", memory)
            first, second = (rest + [None, None])[:2]
            if action == "frame":
                server.socket.send(json.dumps(first))
            elif action == "text":
                server.socket.send(first)
            elif action == "close":
                connections_before = server.connections
                server.socket.abort() if first == 1006 else server.socket.close(first)
            elif action == "request":
                calls[first] = client.call(second["type"], second["payload"])
            elif action == "got":
                await until(lambda: server.frames, lambda: f"no frame came for {first}")
                frame = server.frames.pop(0)
                assert matches(frame, first), f"{frame} is not {first}"
                for name, path in (second or {}).items():
                    value = frame
                    for key in path.split("."):
                        value = value[key]
                    memory[name] = value
            elif action == "resolved":
                response = await asyncio.wait_for(calls[first].response, TIMEOUT_S)
                assert matches(response, second), f"{response} is not {second}"
            elif action == "rejected":
                try:
                    await asyncio.wait_for(calls[first].response, TIMEOUT_S)
                    raise AssertionError("the request was not rejected")
                except halyard.WireError as error:
                    found = {"code": error.code, "retryable": error.retryable}
                    assert found == second, f"{found} is not {second}"
            elif action == "progress":
                assert calls[first].progress == second, calls[first].progress
            elif action == "join":
                room = client.join("room:{id}", first, second.get("last"))
                room.on_message = lambda type, payload: given.append(payload["text"])
                room.on_gap = lambda reason: given.append("gap")
            elif action == "leave":
                room.leave()
            elif action == "state":
                await until(lambda: room.state == first, lambda: f"the state is {room.state}, not {first}")
            elif action == "given":
                server.socket.send(json.dumps({"type": "$ws:sync", "meta": {"timestamp": 1}, "payload": {"id": "given"}}))
                echo = {"type": "$ws:synced", "payload": {"id": "given"}}
                await until(lambda: any(matches(frame, echo) for frame in server.frames), lambda: "no echo came")
                server.frames[:] = [frame for frame in server.frames if not matches(frame, echo)]
                assert given == first, f"{given} is not {first}"
            elif action == "reconnected":
                is_open = lambda: client.is_open and server.connections > connections_before
                await until(is_open, lambda: "the client did not connect again")
            elif action == "ended":
                await until(lambda: client.ended, lambda: "the client has not ended")
            else:
                raise AssertionError(f"unknown step {action}")
    finally:
        await client.__aexit__()
        server.stop()


async def main():
    passed, failed = 0, 0
    for case in json.loads(CASES.read_text())["cases"]:
        for row in case.get("each", [{}]):
            name = case["name"]
            for key, value in row.items():
                name = name.replace("${" + key + "}", value if isinstance(value, str) else json.dumps(value))
            try:
                await run(fill(case["steps"], "${", "}", row))
                passed += 1
            except Exception as error:  # a case that fails must not hide the others
                failed += 1
                print(f"not ok: {name}: {error!r}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
