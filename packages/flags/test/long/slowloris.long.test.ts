/** Checks that connections which send their requests byte by byte do not slow down others and are closed in time. */
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { spawnProgram } from "@halyard/services";
import { recordEvidence } from "@halyard/services/evidence";
import { expect, onTestFinished, test } from "vitest";

const HALF_HEADERS = 5_000;
const SLOW_BODIES = 1_000;
const MEASURE_MS = 8_000;
const MAX_FACTOR = 2;
/** `headersTimeout` and `requestTimeout` of the server, each with the time between two checks and a second to close. */
const CLOSED_MS = { headers: 12_000, body: 32_000 };
const SERVER = fileURLToPath(new URL("../fixtures/patient-server.ts", import.meta.url));

const title = `${HALF_HEADERS} half headers and ${SLOW_BODIES} one-byte bodies do not slow down other callers and are cut off`;

test(title, { timeout: 300_000 }, async () => {
  const program = await spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", SERVER],
    env: { NODE_OPTIONS: undefined },
  });
  onTestFinished(() => program.stop());
  await p99Of(program.port, 2_000);
  const alone = await p99Of(program.port, MEASURE_MS);
  const slow = [
    ...(await openSlow(program.port, HALF_HEADERS, "headers")),
    ...(await openSlow(program.port, SLOW_BODIES, "body")),
  ];
  const beside = await p99Of(program.port, MEASURE_MS);
  const closedMs = await Promise.all(slow.map(({ closed }) => closed));
  const longest = (kind: Slow["kind"]) =>
    Math.max(...closedMs.filter((_, at) => slow[at]?.kind === kind)) / 1_000;
  const after = await p99Of(program.port, 2_000);
  console.log({ alone, beside, after, headers: longest("headers"), body: longest("body") });

  expect(longest("headers") * 1_000).toBeLessThan(CLOSED_MS.headers);
  expect(longest("body") * 1_000).toBeLessThan(CLOSED_MS.body);
  expect(beside).toBeLessThan(alone * MAX_FACTOR);
  recordEvidence("flags-slowloris", {
    what: "Connections that send a part of their request and then one byte a second, beside a caller that evaluates a flag without pause. The server has the time limits that the documentation recommends.",
    size: `${HALF_HEADERS} connections that never finish their headers, ${SLOW_BODIES} that never finish their body.`,
    checked: `The caller's p99 beside them is less than ${MAX_FACTOR} times its p99 without them; every slow connection was closed, those without headers within ${CLOSED_MS.headers / 1_000} s, those without a body within ${CLOSED_MS.body / 1_000} s.`,
    suite: "packages/flags/test/long/slowloris.long.test.ts",
    figures: {
      Node: {
        "p99 alone, ms": alone.toFixed(1),
        "p99 beside slow connections, ms": beside.toFixed(1),
        "p99 after them, ms": after.toFixed(1),
        "half headers closed within, s": longest("headers").toFixed(1),
        "half bodies closed within, s": longest("body").toFixed(1),
      },
    },
  });
});

interface Slow {
  readonly kind: "headers" | "body";
  /** Resolves to the time from the connection to its end. */
  readonly closed: Promise<number>;
}

const BODY = JSON.stringify({ flagKey: "k", context: { userId: "u" } });
const START = "POST /api/auth/feature-flags/evaluate HTTP/1.1\r\nHost: 127.0.0.1\r\n";
const JSON_HEADERS = `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n`;

async function openSlow(port: number, count: number, kind: Slow["kind"]): Promise<Slow[]> {
  const slow: Slow[] = [];
  while (slow.length < count) {
    const some = Array.from({ length: Math.min(200, count - slow.length) }, async (_, at) => {
      // Several source addresses, because the ports of one are soon used up.
      const socket = connect({ port, host: "127.0.0.1", localAddress: `127.0.0.${2 + (at % 8)}` });
      await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
      return { kind, closed: dribble(socket, kind) };
    });
    slow.push(...(await Promise.all(some)));
  }
  return slow;
}

/** Sends the start of a request, then one byte a second. */
function dribble(socket: Socket, kind: Slow["kind"]): Promise<number> {
  const startedAt = performance.now();
  socket.on("error", () => undefined);
  socket.resume();
  socket.write(kind === "headers" ? START : `${START}${JSON_HEADERS}\r\n${BODY.slice(0, 1)}`);
  const timer = setInterval(() => socket.write(kind === "headers" ? "x" : " "), 1_000);
  return new Promise((resolve) =>
    socket.once("close", () => {
      clearInterval(timer);
      resolve(performance.now() - startedAt);
    }),
  );
}

/** Evaluates a flag over one connection, one request after the other. */
async function p99Of(port: number, durationMs: number): Promise<number> {
  const times: number[] = [];
  const endAt = performance.now() + durationMs;
  while (performance.now() < endAt) {
    const startedAt = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/api/auth/feature-flags/evaluate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: BODY,
    });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] ?? 0;
}
