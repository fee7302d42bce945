"""A small WebSocket (RFC 6455) over asyncio, for both ends: text messages, pings and closes. Any WebSocket library will do."""

import asyncio
import base64
import hashlib
import os
import struct
from urllib.parse import urlsplit

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
MAX_MESSAGE_BYTES = 16 * 1024 * 1024


class Closed(Exception):
    """The connection has ended. The code is 1006 when there was no close frame."""

    def __init__(self, code: int, reason: str = ""):
        super().__init__(f"closed with {code} {reason}".strip())
        self.code = code
        self.reason = reason


class WebSocket:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_client: bool):
        self._reader = reader
        self._writer = writer
        self._is_client = is_client

    def send(self, text: str) -> None:
        self._write(TEXT, text.encode())

    def close(self, code: int = 1000) -> None:
        self._write(CLOSE, struct.pack("!H", code))

    def abort(self) -> None:
        self._writer.transport.abort()

    async def receive(self) -> str:
        """The next text message. Raises `Closed`."""
        message = b""
        try:
            while True:
                is_last, opcode, data = await self._read()
                if opcode == PING:
                    self._write(PONG, data)
                elif opcode == CLOSE:
                    code = struct.unpack("!H", data[:2])[0] if len(data) >= 2 else 1005
                    self._write(CLOSE, data[:2])
                    self._writer.close()
                    raise Closed(code, data[2:].decode())
                elif opcode != PONG:
                    message += data
                    if len(message) > MAX_MESSAGE_BYTES:
                        raise Closed(1009)
                    if is_last:
                        return message.decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Closed(1006) from None

    async def _read(self) -> tuple[bool, int, bytes]:
        first, second = await self._reader.readexactly(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", await self._reader.readexactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", await self._reader.readexactly(8))
        if length > MAX_MESSAGE_BYTES:
            raise Closed(1009)
        mask = await self._reader.readexactly(4) if second & 0x80 else None
        data = await self._reader.readexactly(length)
        return bool(first & 0x80), first & 0x0F, masked(data, mask) if mask else data

    def _write(self, opcode: int, data: bytes) -> None:
        if self._writer.is_closing():
            return
        length = len(data)
        header = struct.pack("!B", 0x80 | opcode)
        bit = 0x80 if self._is_client else 0
        if length < 126:
            header += struct.pack("!B", bit | length)
        elif length < 65536:
            header += struct.pack("!BH", bit | 126, length)
        else:
            header += struct.pack("!BQ", bit | 127, length)
        if self._is_client:
            mask = os.urandom(4)
            header, data = header + mask, masked(data, mask)
        self._writer.write(header + data)


def masked(data: bytes, mask: bytes) -> bytes:
    repeated = mask * (len(data) // 4 + 1)
    return (int.from_bytes(data, "big") ^ int.from_bytes(repeated[: len(data)], "big")).to_bytes(len(data), "big")


def accept_key(key: bytes) -> bytes:
    return base64.b64encode(hashlib.sha1(key + GUID).digest())


async def connect(url: str, protocols: list[str]) -> tuple[WebSocket, str | None]:
    """Opens a connection. Returns it with the subprotocol that the server selected."""
    address = urlsplit(url)
    is_secure = address.scheme == "wss"
    port = address.port or (443 if is_secure else 80)
    reader, writer = await asyncio.open_connection(address.hostname, port, ssl=is_secure or None)
    key = base64.b64encode(os.urandom(16))
    target = (address.path or "/") + (f"?{address.query}" if address.query else "")
    writer.write(
        f"GET {target} HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key.decode()}\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: {', '.join(protocols)}\r\n\r\n".encode()
    )
    try:
        status, headers = parse_head(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.IncompleteReadError:
        raise Closed(1006, "the server sent no response") from None
    if " 101 " not in status or headers.get("sec-websocket-accept") != accept_key(key).decode():
        writer.close()
        raise Closed(1006, f"the upgrade was refused: {status}")
    return WebSocket(reader, writer, is_client=True), headers.get("sec-websocket-protocol")


async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, protocol: str) -> WebSocket:
    """Accepts a connection of a server and selects this subprotocol."""
    _, headers = parse_head(await reader.readuntil(b"\r\n\r\n"))
    key = accept_key(headers["sec-websocket-key"].encode()).decode()
    writer.write(
        f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {key}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n".encode()
    )
    return WebSocket(reader, writer, is_client=False)


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    status, *lines = head.decode("latin1").strip().split("\r\n")
    pairs = (line.split(":", 1) for line in lines)
    return status + " ", {name.strip().lower(): value.strip() for name, value in pairs}
