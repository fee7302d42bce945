import { existsSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { endianness } from "node:os";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createNetworkNamespace,
  type NetworkNamespace,
  networkNamespaceRefusal,
  type Program,
  spawnProgram,
} from "./index.ts";
import { waitFor } from "./wait.ts";

const ECHO = `
const server = require("node:net").createServer((socket) => socket.pipe(socket));
server.listen(0, "0.0.0.0", () => console.log(JSON.stringify({ port: server.address().port })));
`;

const refusal = await networkNamespaceRefusal();
if (refusal !== undefined) console.warn(`Skipped. ${refusal}`);

describe.skipIf(refusal !== undefined)("a network namespace", () => {
  let site: NetworkNamespace;
  let echo: Program;

  beforeAll(async () => {
    site = await createNetworkNamespace();
    echo = await spawnProgram(site.inside(process.execPath, ["-e", ECHO]));
  });

  afterAll(async () => {
    await echo?.kill();
    await site?.remove();
  });

  test("has its own network, which this machine reaches by its address", async () => {
    const socket = await open(site.address, echo.port);
    expect(await answerTo(socket, "hello")).toBe("hello");
    expect(socket.localAddress).toBe(site.hostAddress);
    socket.destroy();
    await expect(open("127.0.0.1", echo.port)).rejects.toThrow("ECONNREFUSED");
  });

  test("drops packets silently once cut, and delivers retransmitted TCP packets once mended", async () => {
    const socket = await open(site.address, echo.port);
    const ends: string[] = [];
    socket.on("close", () => ends.push("close"));
    expect(await answerTo(socket, "before")).toBe("before");

    await site.cut();
    let answered = false;
    const answer = answerTo(socket, "while cut").finally(() => {
      answered = true;
    });
    await waitFor(
      async () => {
        if (timesRepeated(socket) < 2) throw new Error("the packet was sent only once");
      },
      { what: "the packet to be repeated", timeoutMs: 10_000 },
    );
    expect({ answered, ends }).toEqual({ answered: false, ends: [] });

    await site.mend();
    expect(await answer).toBe("while cut");
    socket.destroy();
  });
});

describe.skipIf(refusal !== undefined)("a removed network namespace", () => {
  test("leaves nothing behind, and can be removed again without an error", async () => {
    const site = await createNetworkNamespace();
    expect(isThere(site.link)).toBe(true);
    await site.remove();
    await site.remove();
    expect(isThere(site.link)).toBe(false);
  });

  test("leaves nothing behind when the process that created it was killed", async () => {
    const library = fileURLToPath(new URL("./index.ts", import.meta.url));
    const maker = await spawnProgram({
      command: process.execPath,
      args: [
        "--input-type=module",
        "-e",
        `import { createNetworkNamespace } from ${JSON.stringify(library)};
         const { link } = await createNetworkNamespace();
         console.log(JSON.stringify({ port: 0, link }));
         setInterval(() => {}, 1000);`,
      ],
      readyTimeoutMs: 30_000,
    });
    const link = /"link":"(\w+)"/.exec(maker.output())?.[1] ?? "";
    expect(isThere(link)).toBe(true);
    process.kill(maker.pid, "SIGKILL");
    await waitFor(
      async () => {
        if (isThere(link)) throw new Error("the link still exists");
      },
      { what: "the link to disappear", timeoutMs: 10_000 },
    );
  }, 60_000);
});

function isThere(link: string): boolean {
  return existsSync(`/sys/class/net/${link}`);
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

function answerTo(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once("data", (data) => resolve(String(data)));
    socket.once("error", reject);
    socket.write(text);
  });
}

/** How often the kernel has retransmitted the oldest unacknowledged packet. */
function timesRepeated(socket: Socket): number {
  // The address too: other sockets of this machine may have the same port at another address.
  const local = `${kernelAddress(socket.localAddress ?? "")}:${hex(socket.localPort ?? 0, 4)}`;
  const line = readFileSync("/proc/self/net/tcp", "utf8")
    .split("\n")
    .map((row) => row.trim().split(/\s+/))
    .find((row) => row[1] === local);
  if (line === undefined) throw new Error(`the kernel lists no connection from ${local}`);
  return Number.parseInt(line[6] ?? "0", 16);
}

/** An IPv4 address as /proc/net/tcp writes it: its bytes in the order of the machine. */
function kernelAddress(address: string): string {
  const bytes = address.split(".").map((byte) => hex(Number(byte), 2));
  return (endianness() === "LE" ? bytes.reverse() : bytes).join("");
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, "0");
}
