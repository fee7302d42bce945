/** Checks OFREP against its specification: https://github.com/open-feature/protocol, service/openapi.yaml. */
import { APIError } from "better-auth/api";
import { describe, expect, test } from "vitest";
import type { Answer, Host, Person } from "../host.ts";
import { flag, memoryHost, suiteHost } from "../memory-host.ts";

const PATH = "/ofrep/v1/evaluate/flags";
let host: Host;
let ada: Person;
let bob: Person;

suiteHost({}, async (started) => {
  host = started;
  [ada, bob] = [await host.person("ada"), await host.person("bob")];
  const { api } = host.auth;
  const make = (fields: object) => api.createFeatureFlag({ body: flag({ enabled: true, ...fields }) });
  const targeted = await make({ key: "targeted", type: "string", defaultValue: "d" });
  const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "pro" }] };
  await api.createFeatureFlagRule({
    body: { flagId: targeted.id, priority: 1, conditions, value: "for pros" },
  });
  const overridden = await make({ key: "own", type: "string", defaultValue: "d" });
  await api.createFeatureFlagOverride({ body: { flagId: overridden.id, userId: ada.id, value: "ada's" } });
  await make({ key: "split", type: "number", variants: [{ key: "v", weight: 100, value: 1.5 }] });
  await make({ key: "object", type: "json", defaultValue: { a: ["2026-01-01T00:00:00.000Z"] } });
  await make({ key: "nothing", type: "json", defaultValue: null });
  await make({ key: "off", type: "boolean", enabled: false, defaultValue: true });
  await make({ key: "hidden", type: "boolean", visibility: "server" });
});

const one = (key: string, context?: object, headers: Record<string, string> = {}): Promise<Answer> =>
  host.call("POST", `${PATH}/${key}`, { body: context === undefined ? {} : { context }, headers });
const all = (context?: object, headers: Record<string, string> = {}): Promise<Answer> =>
  host.call("POST", PATH, { body: context === undefined ? {} : { context }, headers });

describe("a single flag", () => {
  test("has key, value, reason, variant and flat metadata", async () => {
    const { status, json } = await one("split", { targetingKey: "somebody" });
    const metadata = { revision: expect.any(Number) };
    expect([status, json]).toEqual([
      200,
      { key: "split", value: 1.5, reason: "SPLIT", variant: "v", metadata },
    ]);
  });

  test.for([
    ["targeted", { plan: "pro" }, "for pros", "TARGETING_MATCH"],
    ["targeted", { attributes: { plan: "pro" } }, "for pros", "TARGETING_MATCH"],
    ["targeted", { plan: "free" }, "d", "STATIC"],
    ["object", undefined, { a: ["2026-01-01T00:00:00.000Z"] }, "STATIC"],
    ["off", { targetingKey: "x" }, true, "DISABLED"],
  ] as const)("named %s for %j has the value %j and the reason %s", async ([key, context, value, reason]) => {
    const { status, json } = await one(key, context);
    expect([status, json]).toMatchObject([200, { key, value, reason }]);
  });

  test("whose value is null has no value, so that the caller uses its own default", async () => {
    const { status, json } = await one("nothing");
    expect([status, json]).toEqual([
      200,
      { key: "nothing", reason: "STATIC", metadata: { revision: expect.any(Number) } },
    ]);
  });

  test("uses the targeting key as the user's id", async () => {
    expect((await one("own", { targetingKey: ada.id })).json).toMatchObject({
      value: "ada's",
      reason: "TARGETING_MATCH",
    });
  });

  test.for(["unknown", "hidden", "a%2Fb"])("that does not exist for the caller is 404: %s", async (key) => {
    const { status, json } = await one(key);
    expect(status).toBe(404);
    expect(json).toEqual({
      key: decodeURIComponent(key),
      errorCode: "FLAG_NOT_FOUND",
      errorDetails: expect.any(String),
    });
  });

  test.for([
    ["a context that is not an object", { context: "text" }],
    ["a targeting key that is not a string", { context: { targetingKey: 5 } }],
    ["a body that is not an object", [1]],
  ] as const)("is 400 with the key and a code for %s", async ([, body]) => {
    const { status, json } = await host.call("POST", `${PATH}/own`, { body });
    expect(status).toBe(400);
    expect(json).toEqual({ key: "own", errorCode: "INVALID_CONTEXT", errorDetails: expect.any(String) });
  });

  test("is evaluated in the environment that the header names", async () => {
    const made = await memoryHost();
    await made.auth.api.createFeatureFlag({
      body: flag({ enabled: true, environments: { beta: { defaultValue: "beta's" } }, defaultValue: "d" }),
    });
    const headers = { "x-deployment-ring": "beta" };
    expect((await made.call("POST", `${PATH}/k`, { body: {}, headers })).json.value).toBe("beta's");
  });

  test("is 400 if the body is over the limit, before it is read", async () => {
    const body = { context: { attributes: { text: "x".repeat(70_000) } } };
    expect((await host.call("POST", `${PATH}/own`, { body })).status).toBe(400);
  });
});

describe("all flags", () => {
  test("are all flags the caller may see, including disabled ones", async () => {
    const { status, json } = await all({ plan: "pro" });
    expect(status).toBe(200);
    expect(json.flags.map((entry: { key: string; reason: string }) => [entry.key, entry.reason])).toEqual([
      ["nothing", "STATIC"],
      ["object", "STATIC"],
      ["off", "DISABLED"],
      ["own", "STATIC"],
      ["split", "SPLIT"],
      ["targeted", "TARGETING_MATCH"],
    ]);
  });

  test("are 304 without a body for a caller who has them", async () => {
    const first = await all({ plan: "pro" });
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\da-f]{64}"$/);
    for (const match of [etag, `"other", ${etag}`, `W/${etag}`, "*"]) {
      const again = await all({ plan: "pro" }, { "if-none-match": match });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await all({ plan: "pro" }, { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("are sent again for another context, another user and another revision", async () => {
    const etag = (await all({ targetingKey: "x" })).headers.get("etag") ?? "";
    const ifUnchanged = { "if-none-match": etag };
    expect((await all({ targetingKey: "x" }, ifUnchanged)).status).toBe(304);
    expect((await all({ targetingKey: "y" }, ifUnchanged)).status).toBe(200);
    expect((await all({ targetingKey: "x", plan: "pro" }, ifUnchanged)).status).toBe(200);
    const ofAda = (await all({}, ada.headers)).headers.get("etag") ?? "";
    expect((await all({}, { ...ada.headers, "if-none-match": ofAda })).status).toBe(304);
    expect((await all({}, { ...bob.headers, "if-none-match": ofAda })).status).toBe(200);
    await host.auth.api.createFeatureFlag({ body: flag({ key: "new", enabled: true }) });
    expect((await all({ targetingKey: "x" }, ifUnchanged)).status).toBe(200);
  });

  test("are sent again after an override has expired, which does not change the revision", async () => {
    const { auth, call } = await memoryHost();
    const made = await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "d" }) });
    const expiresAt = new Date(Date.now() + 3_000).toISOString();
    await auth.api.createFeatureFlagOverride({
      body: { flagId: made.id, userId: "u", value: "o", expiresAt },
    });
    const body = { context: { targetingKey: "u" } };
    const first = await call("POST", PATH, { body });
    expect(first.json.flags[0].value).toBe("o");
    const ifUnchanged = { "if-none-match": first.headers.get("etag") ?? "" };
    await expect
      .poll(async () => (await call("POST", PATH, { body, headers: ifUnchanged })).json?.flags[0].value, {
        timeout: 10_000,
      })
      .toBe("d");
  });

  test("are 400 with a code for an invalid context", async () => {
    const { status, json } = await host.call("POST", PATH, { body: { context: 5 } });
    expect([status, json]).toEqual([400, { errorCode: "INVALID_CONTEXT", errorDetails: expect.any(String) }]);
  });
});

describe("the caller", () => {
  test("is the signed-in user, who may not claim to be another user", async () => {
    expect((await one("own", {}, ada.headers)).json.value).toBe("ada's");
    expect((await one("own", { targetingKey: ada.id }, ada.headers)).json.value).toBe("ada's");
    for (const answer of [
      await one("own", { targetingKey: ada.id }, bob.headers),
      await one("own", { userId: ada.id }, bob.headers),
      await one("own", { email: ada.email }, bob.headers),
      await all({ targetingKey: ada.id }, bob.headers),
    ]) {
      expect(answer.status).toBe(403);
      expect(answer.text).not.toContain("ada's");
      expect(answer.json).toEqual({ errorDetails: expect.any(String) });
    }
  });

  test("may be an API key that evaluates for other users", async () => {
    const key = await host.key({ userId: bob.id }, ["evaluate-as"]);
    expect((await one("own", { targetingKey: ada.id }, key.headers)).json.value).toBe("ada's");
    expect((await one("hidden", {}, key.headers)).status).toBe(200);
    const weak = await host.key({ userId: bob.id }, ["read"]);
    expect((await one("own", { targetingKey: ada.id }, weak.headers)).status).toBe(403);
    expect((await one("own", {}, { "x-api-key": "nonsense" })).status).toBe(401);
  });

  test("cannot claim a role or an email address without authentication", async () => {
    for (const claim of [{ role: "admin" }, { email: "ada@example.com" }]) {
      expect((await all({ targetingKey: "x", ...claim })).status).toBe(401);
      expect((await one("own", { targetingKey: "x", ...claim })).status).toBe(401);
    }
  });

  test("must be authenticated if identity is verified", async () => {
    const verified = await memoryHost({ flags: { identity: "verified" } });
    const answer = await verified.call("POST", PATH, { body: { context: { targetingKey: "x" } } });
    expect(answer.status).toBe(401);
  });

  test("gets the status of an APIError that the host's permission throws, in the format of OFREP", async () => {
    const strict = await memoryHost({
      flags: {
        permission: () => {
          throw new APIError("FORBIDDEN", { message: "Ask an administrator." });
        },
      },
    });
    const person = await strict.person("cy");
    const answer = await strict.call("POST", `${PATH}/any`, {
      body: { context: { targetingKey: "another user" } },
      headers: person.headers,
    });
    expect([answer.status, answer.json]).toEqual([403, { errorDetails: "Ask an administrator." }]);
  });
});

test("a context that is nested too deeply is refused as an invalid context, however deep it is", async () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  for (const levels of [9, 100, 15_000]) {
    for (const context of [`{"deep":${deep(levels)}}`, `{"attributes":{"deep":${deep(levels)}}}`]) {
      for (const path of [PATH, `${PATH}/targeted`]) {
        const { status, json } = await host.call("POST", path, { body: `{"context":${context}}` });
        expect([status, json.errorCode], `${path} ${levels}`).toEqual([400, "INVALID_CONTEXT"]);
      }
    }
  }
});
