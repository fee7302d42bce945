/** Checks that fixed bugs stay fixed. */
import { request as httpRequest } from "node:http";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from "vitest";
import type { EvaluationField, EvaluationReason, JsonValue } from "../src/index.ts";
import { createFlagStore } from "../src/store/store.ts";
import { freshPostgres } from "./databases.ts";
import { type Host, type HostOptions, type Person, startHost } from "./host.ts";
import { flag, memoryHost } from "./memory-host.ts";

const KIB = 1024;

async function postgresHost(options: Omit<HostOptions, "database">): Promise<Host> {
  const fresh = await freshPostgres();
  onTestFinished(fresh.drop);
  const { database, close } = fresh.connect();
  onTestFinished(close);
  const host = await startHost({ ...options, database });
  onTestFinished(host.close);
  return host;
}

describe("an owner who evaluates as another user", () => {
  /** Each flag is true for application admins, and for the victim by an override. */
  async function setUp() {
    const host = await memoryHost({ flags: { multiTenant: true } });
    const [root, owner] = [await host.person("root", "admin"), await host.person("owner")];
    const victim = await host.person("victim");
    const home = await host.organization(owner, "home");
    for (const [key, organizationId] of [
      ["global", ""],
      ["local", home],
    ] as const) {
      const { id } = await host.auth.api.createFeatureFlag({
        body: { key, name: key, type: "boolean", enabled: true, organizationId },
      });
      const admins = { conditions: [{ attribute: "role", operator: "equals", value: "admin" }] } as const;
      const rule = { flagId: id, priority: 1, conditions: admins, value: true };
      await host.auth.api.createFeatureFlagRule({ body: rule });
      const override = { flagId: id, userId: victim.id, value: true };
      await host.auth.api.createFeatureFlagOverride({ body: override });
    }
    /** The values of all three endpoints, which must be the same. */
    const values = async (context: object, as: Person) => {
      const request = { context: { organizationId: home, ...context }, select: "value" };
      const batch = await host.call("POST", "/feature-flags/evaluate-batch", {
        as,
        body: { ...request, flagKeys: ["global", "local"] },
      });
      const bootstrap = await host.call("POST", "/feature-flags/bootstrap", { as, body: request });
      const single = await host.evaluate({ ...request, flagKey: "global" }, as);
      expect([bootstrap.json.flags, single.json.value]).toEqual([batch.json.flags, batch.json.flags.global]);
      return batch.json.flags;
    };
    return { ...host, root, owner, victim, home, values };
  }

  test("evaluates the organization's flags as that user, and global flags as the owner", async () => {
    const { owner, victim, values } = await setUp();
    expect(await values({ role: "admin" }, owner)).toEqual({ global: false, local: true });
    expect(await values({ userId: victim.id }, owner)).toEqual({ global: false, local: true });
  });

  test("keeps the owner's user, email, role and organization role for global flags", async () => {
    const { auth, owner } = await setUp();
    const { id } = await auth.api.createFeatureFlag({
      body: flag({ key: "mine", type: "boolean", enabled: true, organizationId: "" }),
    });
    const conditions = {
      conditions: [
        { attribute: "userId", operator: "equals", value: owner.id },
        { attribute: "email", operator: "equals", value: owner.email },
        { attribute: "role", operator: "equals", value: "user" },
        { attribute: "organizationRole", operator: "equals", value: "owner" },
        { attribute: "plan", operator: "equals", value: "pro" },
      ],
    } as const;
    await auth.api.createFeatureFlagRule({ body: { flagId: id, priority: 1, conditions, value: true } });
    const claim = { userId: "u", email: "e", role: "r", attributes: { organizationRole: "x", plan: "pro" } };
    const bootstrap = await auth.api.bootstrapFeatureFlags({
      body: { context: claim, select: "value" },
      headers: new Headers(owner.headers),
    });
    expect(bootstrap.flags).toEqual({ global: false, local: false, mine: true });
  });

  test("with evaluate-as in the application, or with an API key that has it, the claim applies to all flags", async () => {
    const { root, owner, home, victim, key, values } = await setUp();
    expect(await values({ role: "admin" }, root)).toEqual({ global: true, local: true });
    const acting = await key({ userId: owner.id, organizationId: home }, ["evaluate-as"]);
    expect(await values({ userId: victim.id }, acting)).toEqual({ global: true, local: true });
  });
});

describe("an organizationId that databases cannot store", () => {
  test.each(["a\0b", "\0", "\ud800", "x".repeat(256)])("is refused with 400: %j", async (organizationId) => {
    const { auth, person, evaluate } = await memoryHost({ flags: { multiTenant: true } });
    const root = await person("root", "admin");
    const context = { userId: "u", organizationId };
    const refused = { code: "VALIDATION_ERROR" };
    for (const as of [root, undefined]) {
      const answered = await evaluate({ flagKey: "k", context }, as);
      expect([answered.status, answered.json]).toMatchObject([400, refused]);
    }
    const method = auth.api.evaluateFeatureFlag({ body: { flagKey: "k", context } });
    await expect(method).rejects.toMatchObject({ statusCode: 400, body: refused });
  });

  test("does not stop the polling for other tenants", async () => {
    const { auth, adapter } = await postgresHost({});
    const warnings: string[] = [];
    const store = createFlagStore(adapter as DBAdapter, { pollMs: 20, warn: (text) => warnings.push(text) });
    onTestFinished(() => store.close());
    await store.snapshot("a\0b");
    expect((await store.snapshot("")).snapshot.revision).toBe(0);
    await auth.api.createFeatureFlag({ body: flag() });
    // Health does not read the database, so only a poll can have loaded this.
    await vi.waitFor(async () => expect((await store.health("")).revision).toBe(1), 5_000);
    expect([await store.health(""), warnings]).toEqual([
      expect.not.objectContaining({ problem: expect.anything() }),
      [],
    ]);
  });
});

describe("a body without a length", () => {
  /** Sends the chunks and leaves the body open. */
  function sendOpenEnded(host: Host, piece: string, pieces: number) {
    return new Promise<{ status: number | undefined; connection: string | undefined; body: string }>(
      (resolve, reject) => {
        const sent = httpRequest(`${host.origin}/api/auth/feature-flags/evaluate`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: host.origin },
        });
        onTestFinished(() => void sent.destroy());
        sent.on("error", reject);
        sent.on("response", (response) => {
          let body = "";
          response.on("data", (chunk) => {
            body += chunk;
          });
          response.on("end", () =>
            resolve({ status: response.statusCode, connection: response.headers.connection, body }),
          );
        });
        for (let at = 0; at < pieces; at++) sent.write(piece);
      },
    );
  }

  test("is refused while it is sent, and the connection is closed", async () => {
    const host = await memoryHost();
    const answered = await sendOpenEnded(host, "x".repeat(64 * KIB), 17);
    expect([answered.status, answered.connection]).toEqual([400, "close"]);
    expect(JSON.parse(answered.body)).toMatchObject({
      code: "VALIDATION_ERROR",
      details: { limit: 64 * KIB },
    });
  });

  const streamed = (host: Host, path: string, ...pieces: (string | Error)[]) =>
    host.auth.handler(
      new Request(`${host.origin}/api/auth/feature-flags/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: host.origin, "x-deployment-ring": "canary" },
        body: new ReadableStream({
          pull(controller) {
            const next = pieces.shift();
            if (next === undefined) controller.close();
            else if (next instanceof Error) controller.error(next);
            else controller.enqueue(new TextEncoder().encode(next));
          },
        }),
        duplex: "half",
      } as RequestInit),
    );

  test("is accepted up to the last byte of the limit, with its headers", async () => {
    const host = await memoryHost();
    const body = (bytes: number) => {
      const start = '{"flagKey":"k","contextInResponse":true,"context":{"userId":"é"},"flagKeys":[],"pad":"';
      return [start, `${"x".repeat(bytes - Buffer.byteLength(start) - 2)}"}`] as const;
    };
    const within = await streamed(host, "evaluate", ...body(64 * KIB));
    expect([within.status, await within.json()]).toMatchObject([
      200,
      { context: { userId: "é", environment: "canary" } },
    ]);
    expect((await streamed(host, "evaluate", ...body(64 * KIB + 1))).status).toBe(400);
    expect((await streamed(host, "evaluate-batch", ...body(256 * KIB))).status).toBe(200);
    expect((await streamed(host, "evaluate-batch", ...body(256 * KIB + 1))).status).toBe(400);
  });

  test("that is cut off is a 400, not a server error", async () => {
    const host = await memoryHost();
    const answered = await streamed(host, "evaluate", '{"flagKey"', new Error("gone"));
    expect([answered.status, await answered.json()]).toMatchObject([400, { code: "VALIDATION_ERROR" }]);
  });
});

describe("an API key", () => {
  test("that cannot be looked up is a STORAGE_ERROR, not an invalid key", async () => {
    const { person, key, request, call, db } = await memoryHost();
    const { id: userId } = await person("owner");
    const [seen, unseen] = [await key({ userId }, ["read"]), await key({ userId }, ["read"])];
    const evaluate = (headers: Record<string, string>) =>
      request("/feature-flags/evaluate", { flagKey: "k" }, headers);
    const list = () => call("GET", "/feature-flags/admin/flags", { headers: seen.headers });
    for (const { status } of [await evaluate(seen.headers), await list()]) expect(status).toBe(200);
    db.exec("alter table apikey rename to gone");
    for (const { status, json } of [await evaluate(unseen.headers), await list()]) {
      expect([status, json]).toEqual([
        503,
        {
          code: "STORAGE_ERROR",
          message: "The key in x-api-key could not be looked up. Try again.",
          details: { retryAfter: 5 },
        },
      ]);
    }
    // A key in the principal cache may still evaluate, but not administer.
    const goesOn = await evaluate(seen.headers);
    expect([goesOn.status, goesOn.json.metadata.stale]).toEqual([200, true]);
    db.exec("alter table gone rename to apikey");
    for (const { status } of [await evaluate(unseen.headers), await list()]) expect(status).toBe(200);
  });

  const spend = async (options: { keysAreSessions: boolean }, remaining: number) => {
    const { auth, person, request } = await memoryHost(options);
    const { id: userId } = await person("owner");
    const { key } = await auth.api.createApiKey({
      body: { userId, remaining, permissions: { featureFlag: ["read"] } },
    });
    for (let use = 0; ; use++) {
      const answered = await request("/feature-flags/evaluate", { flagKey: "k" }, { "x-api-key": key });
      if (answered.status !== 200) return { uses: use, answered };
    }
  };

  test("that has no requests left gets no Retry-After", async () => {
    const { uses, answered } = await spend({ keysAreSessions: false }, 4);
    expect([uses, answered.status, answered.json.code]).toEqual([4, 429, "RATE_LIMIT_EXCEEDED"]);
    expect([answered.headers.get("retry-after"), answered.json.details]).toEqual([null, undefined]);
  });

  test("that also acts as a session counts twice, and is refused in Better Auth's format", async () => {
    const { uses, answered } = await spend({ keysAreSessions: true }, 4);
    expect([uses, answered.status, answered.json.code]).toEqual([2, 429, "USAGE_EXCEEDED"]);
  });
});

test("health names the problem that prevents a refresh, to callers who may read flags", async () => {
  const { auth, person, call, evaluate, db } = await memoryHost({ bounds: { pollMs: 20 } });
  const [root, user] = [await person("root", "admin"), await person("user")];
  await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
  await evaluate({ flagKey: "k" });
  const health = async (as?: Person) => (await call("GET", "/feature-flags/health", { as })).json;
  expect(await health(root)).not.toHaveProperty("problem");
  db.exec(`update featureFlag set defaultValue = '{'; update featureFlagRevision set revision = 2`);
  const problem = 'The stored data of the flag "k" is invalid.';
  await vi.waitFor(async () => expect((await health(root)).problem).toBe(problem), 5_000);
  expect(await auth.api.getFeatureFlagsHealth()).toMatchObject({ problem });
  for (const as of [user, undefined]) expect(await health(as)).not.toHaveProperty("problem");
});

describe("debug", () => {
  test("returns the value without a trace for an expired session whose cookie is still trusted", async () => {
    const { auth, person, evaluate, db } = await memoryHost({ cookieCache: true });
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    const admin = await person("admin", "admin");
    const ask = (body: object = {}) => evaluate({ flagKey: "k", debug: true, ...body }, admin);
    expect((await ask()).json.metadata).toHaveProperty("trace");
    db.exec("delete from session");
    const answered = await ask();
    expect([answered.status, answered.json.value]).toEqual([200, "v"]);
    expect(answered.json.metadata).not.toHaveProperty("trace");
    // A claim of another identity needs more than the cached cookie.
    expect((await ask({ context: { userId: "other" } })).status).toBe(401);
    db.exec("drop table session");
    expect((await ask()).json.code).toBe("STORAGE_ERROR");
  });

  test("returns the value without a trace for an API key that acts as a session", async () => {
    const { auth, person, request } = await memoryHost({ keysAreSessions: true });
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    const { key } = await auth.api.createApiKey({ body: { userId: (await person("admin", "admin")).id } });
    const body = { flagKey: "k", debug: true };
    const answered = await request("/feature-flags/evaluate", body, { "x-api-key": key });
    expect([answered.status, answered.json.value]).toEqual([200, "v"]);
  });
});

test("an anonymous visitor who may not claim an organization role may claim other attributes", async () => {
  const { evaluate } = await memoryHost({ flags: { identity: "verified" } });
  const claim = (attributes: object) => evaluate({ flagKey: "k", context: { attributes } });
  const refused = await claim({ organizationRole: "owner" });
  expect([refused.status, refused.json.details]).toEqual([401, { fields: ["attributes.organizationRole"] }]);
  expect((await claim({ plan: "pro" })).status).toBe(200);
});

describe("invalid requests", () => {
  test("a time whose offset moves it outside of the years 0000 to 9999 is refused", async () => {
    const { person, call } = await memoryHost();
    const as = await person("admin", "admin");
    const audit = async (query: Record<string, string>) =>
      (await call("GET", `/feature-flags/admin/audit?${new URLSearchParams(query)}`, { as })).status;
    expect(await audit({ start: "0000-01-01T00:00:00+10:00" })).toBe(400);
    expect(await audit({ end: "9999-12-31T23:59:59-10:00" })).toBe(400);
    expect(await audit({ start: "0000-01-01T00:00:00Z", end: "9999-12-31T23:59:59Z" })).toBe(200);
  });

  test("bucketBy with malformed Unicode is refused", async () => {
    const { person, createFlag } = await memoryHost();
    const admin = await person("admin", "admin");
    expect((await createFlag(flag({ bucketBy: "attributes.\ud800x" }), admin)).status).toBe(400);
    expect((await createFlag(flag({ bucketBy: "attributes.a\0" }), admin)).status).toBe(400);
    const made = await createFlag(flag({ bucketBy: "attributes.é😀" }), admin);
    expect([made.status, made.json.bucketBy]).toEqual([201, "attributes.é😀"]);
  });

  test("the error shows only the start of a long name", async () => {
    const { person, createFlag } = await memoryHost();
    const admin = await person("admin", "admin");
    const long = "😀".repeat(10_000);
    const settings = { enabled: "yes" };
    for (const fields of [{ [long]: 1 }, { environments: { [long]: settings } }]) {
      const { status, text } = await createFlag(flag(fields), admin);
      expect([status, text.length < 2_000]).toEqual([400, true]);
      // JSON escapes half a surrogate pair and no other character here.
      expect([text.includes("😀".repeat(50)), text.includes("\\ud")]).toEqual([true, false]);
    }
  });
});

describe("types and versions of server methods", () => {
  test("the result of a select with a list of unknown length has only optional fields", async () => {
    const { auth } = await memoryHost();
    const pick = async (select: EvaluationField[]) =>
      auth.api.evaluateFeatureFlag({ body: { flagKey: "k", select } });
    const picked = await pick(["reason"]);
    expectTypeOf(picked.value).toEqualTypeOf<JsonValue | undefined>();
    expectTypeOf(picked.reason).toEqualTypeOf<EvaluationReason | undefined>();
    expect(picked).not.toHaveProperty("value");
  });

  test("a segment update takes the expected version in the body as a method, and only in If-Match over HTTP", async () => {
    const { auth, person, call } = await memoryHost();
    const { id } = await auth.api.createFeatureFlagSegment({
      body: { key: "s", conditions: { conditions: [] } },
    });
    const change = (body: { name: string; version?: number }) =>
      auth.api.updateFeatureFlagSegment({ params: { id }, body });
    expect(await change({ name: "A", version: 1 })).toMatchObject({ name: "A", version: 2 });
    await expect(change({ name: "B", version: 1 })).rejects.toMatchObject({ statusCode: 409 });
    await expect(change({ name: "B", version: 0 })).rejects.toMatchObject({ statusCode: 400 });
    expect(await change({ name: "C" })).toMatchObject({ name: "C", version: 3 });
    const path = `/feature-flags/admin/segments/${id}`;
    const as = await person("admin", "admin");
    expect((await call("PATCH", path, { as, body: { name: "D", version: 3 } })).status).toBe(400);
  });
});
