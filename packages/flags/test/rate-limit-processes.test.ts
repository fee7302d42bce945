/** Checks that two processes together never exceed a rate limit. */
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createRedisPrefix, type Program, spawnProgram } from "@halyard/services";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("fixtures/limited-server.ts", import.meta.url));
const EVENT = { flagKey: "k", event: "e" };

const RULES: readonly (readonly [
  rule: string,
  limit: number,
  method: string,
  path: string,
  body: unknown,
])[] = [
  ["evaluate", 100, "POST", "evaluate", { flagKey: "k" }],
  ["evaluate-batch", 100, "POST", "evaluate-batch", { flagKeys: ["k"] }],
  ["bootstrap", 100, "POST", "bootstrap", {}],
  ["events", 100, "POST", "events", EVENT],
  ["events/batch", 100, "POST", "events/batch", { events: [EVENT] }],
  ["admin/*", 20, "GET", "admin/flags", undefined],
  // The reserve adds to the admin limit.
  ["admin/* with its reserve", 40, "PATCH", "admin/flags/1", { enabled: false }],
];

let lastAddress = 0;

describe.each(["redis", "secondary"])("two processes that share a limit in %s", (kind) => {
  let programs: Program[] = [];

  beforeAll(async () => {
    const { url, prefix } = await createRedisPrefix();
    const start = () =>
      spawnProgram({
        command: process.execPath,
        args: ["--conditions=@halyard/source", PROGRAM, url, prefix, kind],
        readyTimeoutMs: 50_000,
      });
    programs = await Promise.all([start(), start()]);
  });
  afterAll(() => Promise.all(programs.map((program) => program.stop())));

  test.each(RULES)(
    "permit no more of 200 parallel requests than the limit of %s",
    async (_rule, limit, method, path, body) => {
      const address = `203.0.113.${++lastAddress}`;
      const call = (at: number) =>
        statusOf(
          `http://127.0.0.1:${programs[at % 2]?.port}/api/auth/feature-flags/${path}`,
          method,
          address,
          body,
        );
      const statuses = await Promise.all(Array.from({ length: 200 }, (_, at) => call(at)));
      expect(statuses.filter((status) => ![200, 401, 429].includes(status))).toEqual([]);
      const passed = statuses.filter((status) => status !== 429).length;
      expect(passed).toBeLessThanOrEqual(limit);
      // With a secondary storage, a process that does not know the end of the window yet loses its blocks: one or two, or
      // more on a busy machine.
      expect(passed).toBeGreaterThanOrEqual(
        kind === "redis" || path.startsWith("admin") ? limit : limit * 0.5,
      );
    },
  );

  test("log no outage", () => {
    expect(programs.map((program) => program.output()).join("")).not.toMatch(/rate limit store/);
  });
});

test("a server in production has rate limits and warns about its configuration", async () => {
  const { url, prefix } = await createRedisPrefix();
  const program = await spawnProgram({
    command: process.execPath,
    args: ["--conditions=@halyard/source", PROGRAM, url, prefix, "memory"],
    env: { NODE_ENV: "production", TEST: undefined, VITEST: undefined },
    readyTimeoutMs: 50_000,
  });
  onTestFinished(() => program.stop());
  const path = `http://127.0.0.1:${program.port}/api/auth/feature-flags/admin/flags`;
  const statuses = await Promise.all(
    Array.from({ length: 30 }, () => statusOf(path, "GET", undefined, undefined)),
  );
  // No header has an address, so all requests share one bucket.
  expect(statuses.filter((status) => status === 401)).toHaveLength(20);
  expect(program.output().match(/Rate limits are counted in memory/g)).toHaveLength(1);
  expect(program.output().match(/The network address of a caller is unknown/g)).toHaveLength(1);
});

/** Uses a new connection, because the server may close a kept one just when it is used again. */
function statusOf(url: string, method: string, address: string | undefined, body: unknown): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      ...(address !== undefined && { "x-forwarded-for": address }),
    };
    const sent = request(url, { method, headers, agent: false }, (response) => {
      text(response).then(() => resolve(response.statusCode ?? 0), reject);
    });
    sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}
