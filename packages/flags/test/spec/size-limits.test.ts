/** Checks the size limits. A request over a limit is 400, and `details.limit` names the limit. */
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import type { Answer, Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const KIB = 1024;
const isOver = ({ status, json }: Answer, limit: number) =>
  expect([status, json.code, json.details.limit]).toEqual([400, "VALIDATION_ERROR", limit]);

describe.each(WAYS)("guide/flags-http: Limits (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const nested = (levels: number) => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level++) value = { deep: value };
    return value;
  };

  test("rolloutPercentage is an integer from 0 to 100, and weights sum to 100", async () => {
    const flag = { key: newKey(), name: "N", type: "boolean" };
    expect((await way().createFlag({ ...flag, rolloutPercentage: 100.5 })).status).toBe(400);
    const halves = [
      { key: "a", weight: 50, value: true },
      { key: "b", weight: 49, value: false },
    ];
    expect((await way().createFlag({ ...flag, variants: halves })).status).toBe(400);
  });

  test("a body has at most 64 KiB, and a batch at most 256 KiB", async () => {
    const padding = "x".repeat(64 * KIB);
    isOver(await way().evaluate({ flagKey: "k", padding }), 64 * KIB);
    isOver(await way().bootstrap({ padding }), 64 * KIB);
    isOver(
      await way().createFlag({ key: newKey(), name: "N", type: "string", description: padding }),
      64 * KIB,
    );
    expect((await way().batch({ flagKeys: ["k"], padding })).status).toBe(200);
    isOver(await way().batch({ flagKeys: ["k"], padding: padding.repeat(4) }), 256 * KIB);
  });

  test("a flag has at most 64,000 bytes, counted as UTF-8", async () => {
    const flag = { key: newKey(), name: "N", type: "string", defaultValue: "é".repeat(32_000) };
    isOver(await way().createFlag(flag), 64_000);
  });

  test("a context has at most 16 KiB and 8 levels", async () => {
    const evaluate = (attributes: unknown) => way().evaluate({ flagKey: "k", context: { attributes } });
    expect((await evaluate({ x: "y".repeat(16 * KIB - 100) })).status).toBe(200);
    isOver(await evaluate({ x: "y".repeat(16 * KIB) }), 16 * KIB);
    isOver(await evaluate({ x: "é".repeat(8 * KIB) }), 16 * KIB);
    expect((await evaluate(nested(7))).status).toBe(200);
    isOver(await evaluate(nested(8)), 8);
    isOver(await evaluate(nested(12)), 8);
  });

  test("a batch has at most 100 flags", async () => {
    isOver(await way().batch({ flagKeys: Array(101).fill("k") }), 100);
  });

  test("values are at most 64 levels deep", async () => {
    const flag = () => ({ key: newKey(), name: "N", type: "json" });
    expect((await way().createFlag({ ...flag(), defaultValue: nested(64) })).status).toBe(201);
    expect((await way().createFlag({ ...flag(), defaultValue: nested(65) })).json.code).toBe(
      "VALIDATION_ERROR",
    );
    expect((await way().evaluate({ flagKey: "k", default: nested(65) })).json.code).toBe("VALIDATION_ERROR");
  });

  test("a flag has at most 8 regex conditions in all its rules", async () => {
    const { json: flag } = await way().createFlag({ key: newKey(), name: "N", type: "boolean" });
    const conditions = { conditions: Array(4).fill({ attribute: "x", operator: "regex", value: "a" }) };
    const rule = { priority: 1, conditions, value: true };
    expect([
      (await way().createRule(flag.id, rule)).status,
      (await way().createRule(flag.id, rule)).status,
    ]).toEqual([201, 201]);
    expect((await way().createRule(flag.id, rule)).status).toBe(400);
  });
});

describe("guide/flags-http: Limits", () => {
  test("a body whose content-length is over the limit is refused before it is sent", async () => {
    const answer = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const sent = httpRequest(`${host.origin}/api/auth/feature-flags/evaluate`, {
        method: "POST",
        headers: { "content-type": "application/json", "content-length": 10 * KIB * KIB },
      });
      sent.on("error", reject);
      sent.on("response", (response) => {
        let body = "";
        response.on("data", (chunk) => {
          body += chunk;
        });
        response.on("end", () => {
          resolve({ status: response.statusCode, body });
          sent.destroy();
        });
      });
      sent.flushHeaders();
    });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({ code: "VALIDATION_ERROR", details: { limit: 64 * KIB } });
  });

  test("a connection stays usable after a body was refused", async () => {
    const body = { flagKey: "k", padding: "x".repeat(100 * KIB) };
    for (let round = 0; round < 5; round++) {
      isOver(await host.call("POST", "/feature-flags/evaluate", { body }), 64 * KIB);
      expect((await host.evaluate({ flagKey: "k" })).status).toBe(200);
    }
  });

  test("a chunked body without a content-length is measured", async () => {
    const text = JSON.stringify({ flagKey: "k", padding: "x".repeat(65 * KIB) });
    const pieces = new ReadableStream({
      start(controller) {
        const bytes = new TextEncoder().encode(text);
        for (let at = 0; at < bytes.length; at += 10_000) controller.enqueue(bytes.slice(at, at + 10_000));
        controller.close();
      },
    });
    const response = await fetch(`${host.origin}/api/auth/feature-flags/evaluate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: pieces,
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(400);
    expect((await response.json()).details).toEqual({ limit: 64 * KIB });
  });

  test("a request without a content-length is answered behind Next.js, which passes a proxy of it", async () => {
    const ask = (method: string, path: string, body: string) => {
      const url = `${host.origin}/api/auth/feature-flags/${path}`;
      const headers = { "content-type": "application/json" };
      const request = new Request(url, { method, headers, body });
      return host.auth.handler(
        new Proxy(request, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === "function" ? value.bind(target) : value;
          },
        }),
      );
    };
    expect((await ask("POST", "evaluate", '{"flagKey":"k"}')).status).toBe(200);
    expect((await ask("DELETE", "admin/flags/some-id", "")).status).toBe(401);
  });

  test("other routes of Better Auth keep their own limits", async () => {
    const email = `${"x".repeat(65 * KIB)}@example.com`;
    const answer = await host.call("POST", "/sign-in/email", { body: { email, password: "p" } });
    expect(answer.json).not.toHaveProperty("details");
  });
});
