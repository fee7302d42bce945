/** Contract: "Events" and the event operations, with what the decisions add. */
import { describe, expect, test } from "vitest";
import { murmur3 } from "../../src/engine/murmur.ts";
import type { EventRow, ExposureRow } from "../../src/model/event-rows.ts";
import type { Answer, Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { WAYS, type Way } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const HOUR_MS = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

const make = async (fields: object = {}) =>
  (await host.createFlag({ key: newKey(), name: "N", type: "string", enabled: true, ...fields }, admin)).json;
const rowsOf = (flagKey: string, at = host) =>
  at.adapter.findMany<EventRow>({
    model: "featureFlagEvent",
    where: [{ field: "flagKey", value: flagKey }],
    limit: 10_000,
  });
async function rowOf(flagKey: string): Promise<EventRow> {
  const [row, ...others] = await rowsOf(flagKey);
  expect(others).toEqual([]);
  if (row === undefined) throw new Error("Nothing was stored.");
  return row;
}
const isRefused = (answer: Answer, status: number, code: string) =>
  expect([answer.status, answer.json.code], answer.text).toEqual([status, code]);
const send = (
  body: unknown,
  as?: { headers: Record<string, string> },
  headers: Record<string, string> = {},
) => host.request("/feature-flags/events", body, { ...as?.headers, ...headers });
const sendBatch = (body: unknown, as?: { headers: Record<string, string> }) =>
  host.request("/feature-flags/events/batch", body, as?.headers);

describe.each(WAYS)("Events, %s", (_name, through) => {
  const way = (): Way => through({ host, admin });

  test("an event is answered with 200, success and its id, and is stored", async () => {
    const flagKey = newKey();
    const answer = await way().event({ flagKey, event: "click", value: 2.5 });
    expect([answer.status, answer.json]).toEqual([200, { success: true, eventId: expect.any(String) }]);
    expect(await rowOf(flagKey)).toMatchObject({
      eventId: answer.json.eventId,
      event: "click",
      value: "2.5",
      properties: null,
      sampleRate: "1",
      idempotencyKey: null,
    });
  });

  test.each([
    ["value", { value: 3 }, "3", null],
    ["a number in properties", { properties: 4 }, "4", null],
    ["an object in properties", { properties: { a: [1] } }, null, '{"a":[1]}'],
    ["both value and an object", { value: 5, properties: { b: 1 } }, "5", '{"b":1}'],
    ["neither", {}, null, null],
    ["keys nobody knows", { value: 6, more: true }, "6", null],
  ])("with %s", async (_what, fields, value, properties) => {
    const flagKey = newKey();
    expect((await way().event({ flagKey, event: "e", ...fields })).status).toBe(200);
    expect(await rowOf(flagKey)).toMatchObject({ value, properties });
  });

  test.each([
    ["no flagKey", { event: "e" }],
    ["no event", { flagKey: "k" }],
    ["an empty event", { flagKey: "k", event: "" }],
    ["an event that is no text", { flagKey: "k", event: 3 }],
    ["a flagKey longer than any flag's", { flagKey: "k".repeat(129), event: "e" }],
    ["NUL in the event", { flagKey: "k", event: "a\0b" }],
    ["a value that is text", { flagKey: "k", event: "e", value: "1" }],
    ["a value and a number in properties", { flagKey: "k", event: "e", value: 1, properties: 1 }],
    ["properties that are text", { flagKey: "k", event: "e", properties: "p" }],
    ["properties that are a list", { flagKey: "k", event: "e", properties: [] }],
    ["a time that is none", { flagKey: "k", event: "e", timestamp: "yesterday" }],
    ["a time over 48 hours ago", { flagKey: "k", event: "e", timestamp: ago(48 * HOUR_MS + 60_000) }],
    ["a time over 5 minutes ahead", { flagKey: "k", event: "e", timestamp: ago(-6 * 60_000) }],
    ["a sampleRate below 0", { flagKey: "k", event: "e", sampleRate: -0.1 }],
    ["a sampleRate above 1", { flagKey: "k", event: "e", sampleRate: 1.1 }],
    ["a context that is no object", { flagKey: "k", event: "e", context: "u" }],
    ["no object at all", []],
  ])("%s is 400", async (_what, body) => {
    isRefused(await way().event(body), 400, "VALIDATION_ERROR");
  });

  test("timestamp is when it happened, within 48 hours, and in any offset", async () => {
    const flagKey = newKey();
    const at = ago(47 * HOUR_MS);
    await way().event({ flagKey, event: "e", timestamp: at.replace("Z", "+00:00") });
    const row = await rowOf(flagKey);
    expect(row.at).toBe(at);
    expect(Date.now() - Date.parse(row.receivedAt)).toBeLessThan(60_000);
  });

  test("properties are at most 16 KiB", async () => {
    const answer = await way().event({ flagKey: "k", event: "e", properties: { p: "x".repeat(16 * 1024) } });
    isRefused(answer, 400, "VALIDATION_ERROR");
    expect(answer.json.details).toEqual({ limit: 16 * 1024 });
  });

  test("sampleRate 0 keeps nothing and still succeeds; the rate is stored", async () => {
    const flagKey = newKey();
    expect((await way().event({ flagKey, event: "e", sampleRate: 0 })).json.success).toBe(true);
    expect(await rowsOf(flagKey)).toEqual([]);
    expect((await way().event({ flagKey, event: "e", sampleRate: 1 })).json.success).toBe(true);
    expect(await rowsOf(flagKey)).toHaveLength(1);
  });

  test("the same Idempotency-Key with the same body, in any order of its keys, gives the first answer", async () => {
    const flagKey = newKey();
    const headers = { "idempotency-key": newKey("key") };
    const first = await way().event(
      { flagKey, event: "e", properties: { a: 1, b: { c: 2, d: 3 } } },
      headers,
    );
    const again = await way().event(
      { properties: { b: { d: 3, c: 2 }, a: 1 }, event: "e", flagKey },
      headers,
    );
    expect([again.status, again.json]).toEqual([200, first.json]);
    expect((await rowOf(flagKey)).idempotencyKey).toBe(headers["idempotency-key"]);
  });

  test("the same Idempotency-Key with another body is 409", async () => {
    const headers = { "idempotency-key": newKey("key") };
    await way().event({ flagKey: "k", event: "e", value: 1 }, headers);
    isRefused(await way().event({ flagKey: "k", event: "e", value: 2 }, headers), 409, "VALIDATION_ERROR");
  });

  test("of 64 at once with one Idempotency-Key, all get the first answer and one is stored", async () => {
    const flagKey = newKey();
    const headers = { "idempotency-key": newKey("key") };
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => way().event({ flagKey, event: "e" }, headers)),
    );
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.eventId}`)).size).toBe(1);
    expect(await rowsOf(flagKey)).toHaveLength(1);
  });

  test("an Idempotency-Key that is empty or longer than 255 characters is 400", async () => {
    for (const key of ["", "k".repeat(256)]) {
      const answer = await way().event({ flagKey: "k", event: "e" }, { "idempotency-key": key });
      isRefused(answer, 400, "VALIDATION_ERROR");
    }
  });

  test("a batch counts what succeeded and what failed, and has an id", async () => {
    const flagKey = newKey();
    const good = { flagKey, event: "e", value: 1 };
    const events = [good, { flagKey }, good, { flagKey, event: "e", timestamp: "bad" }, 7, null];
    const answer = await way().eventBatch({ events });
    expect([answer.status, answer.json]).toEqual([
      200,
      { success: 2, failed: 4, batchId: expect.any(String) },
    ]);
    expect(await rowsOf(flagKey)).toHaveLength(2);
  });

  test("a batch in which everything fails is 200", async () => {
    const answer = await way().eventBatch({ events: [{}, {}] });
    expect([answer.status, answer.json.success, answer.json.failed]).toEqual([200, 0, 2]);
  });

  test.each([
    ["no events", {}],
    ["events that are no list", { events: "x" }],
    ["an empty list", { events: [] }],
    ["a key that is no text", { events: [{ flagKey: "k", event: "e" }], idempotencyKey: 1 }],
    ["a wrong sampleRate", { events: [{ flagKey: "k", event: "e" }], sampleRate: 2 }],
  ])("a batch with %s is 400", async (_what, body) => {
    isRefused(await way().eventBatch(body), 400, "VALIDATION_ERROR");
  });

  test("a batch has at most 1,000 events", async () => {
    const flagKey = newKey();
    const events = Array.from({ length: 1001 }, () => ({ flagKey, event: "e" }));
    const answer = await way().eventBatch({ events });
    isRefused(answer, 400, "VALIDATION_ERROR");
    expect(answer.json.details).toEqual({ limit: 1000 });
    expect((await way().eventBatch({ events: events.slice(1) })).json.success).toBe(1000);
  });

  test("a batch's idempotencyKey is its batchId; sent again it adds nothing, with another body it is 409", async () => {
    const flagKey = newKey();
    const body = { events: [{ flagKey, event: "e" }, { flagKey }], idempotencyKey: newKey("batch") };
    const first = await way().eventBatch(body);
    expect(first.json).toEqual({ success: 1, failed: 1, batchId: body.idempotencyKey });
    expect((await way().eventBatch(body)).json).toEqual(first.json);
    expect(await rowsOf(flagKey)).toHaveLength(1);
    const other = { ...body, events: [{ flagKey, event: "e" }, { flagKey: "else" }] };
    isRefused(await way().eventBatch(other), 409, "VALIDATION_ERROR");
  });

  test("an item's idempotencyKey shares its scope with the header", async () => {
    const flagKey = newKey();
    const key = newKey("key");
    const event = { flagKey, event: "e", value: 1 };
    await way().event(event, { "idempotency-key": key });
    const item = { ...event, idempotencyKey: key };
    const fresh = { ...event, idempotencyKey: newKey("key") };
    const answer = await way().eventBatch({ events: [item, fresh, fresh, { ...item, value: 2 }] });
    expect([answer.json.success, answer.json.failed]).toEqual([3, 1]);
    expect(await rowsOf(flagKey)).toHaveLength(2);
  });

  test("an item's own sampleRate comes before the batch's", async () => {
    const flagKey = newKey();
    const events = [
      { flagKey, event: "kept", sampleRate: 1 },
      { flagKey, event: "not" },
    ];
    expect((await way().eventBatch({ events, sampleRate: 0 })).json.success).toBe(2);
    expect((await rowsOf(flagKey)).map(({ event }) => event)).toEqual(["kept"]);
  });
});

describe("Whom an event is about", () => {
  test("is the session's user, and nobody else without evaluate-as", async () => {
    const user = await host.person("about");
    const flagKey = newKey();
    await send({ flagKey, event: "e", context: { attributes: { plan: "pro" } } }, user);
    expect((await rowOf(flagKey)).userId).toBe(user.id);
    isRefused(
      await send({ flagKey, event: "e", context: { userId: "other" } }, user),
      403,
      "PERMISSION_DENIED",
    );
    await send({ flagKey, event: "as", context: { userId: "other" } }, admin);
    expect((await rowsOf(flagKey)).find(({ event }) => event === "as")?.userId).toBe("other");
  });

  test("is whom an anonymous caller claims, unless claims must be verified", async () => {
    const flagKey = newKey();
    await send({ flagKey, event: "e", context: { userId: "u1" } });
    expect((await rowOf(flagKey)).userId).toBe("u1");
    const strict = await memoryHost({ flags: { identity: "verified" } });
    const refused = await strict.request("/feature-flags/events", {
      flagKey,
      event: "e",
      context: { userId: "u1" },
    });
    isRefused(refused, 401, "PERMISSION_DENIED");
    expect((await strict.request("/feature-flags/events", { flagKey, event: "e" })).status).toBe(200);
  });

  test("in a batch, one that may not be claimed fails by itself", async () => {
    const user = await host.person("batcher");
    const flagKey = newKey();
    const events = [
      { flagKey, event: "e" },
      { flagKey, event: "e", context: { userId: "other" } },
      { flagKey, event: "e", context: { userId: user.id } },
    ];
    const { json } = await sendBatch({ events }, user);
    expect([json.success, json.failed]).toEqual([2, 1]);
    expect((await rowsOf(flagKey)).map(({ userId }) => userId)).toEqual([user.id, user.id]);
  });

  test("a user id that no database takes as it is does no harm", async () => {
    const flagKey = newKey();
    expect((await send({ flagKey, event: "e", context: { userId: "a\0b\ud800" } })).status).toBe(200);
    expect((await rowOf(flagKey)).userId).toBe("a\ufffdb\ufffd");
  });

  test("an idempotency key is one user's, one server key's, or everybody's who is not known", async () => {
    const [ann, bob] = [await host.person("ann"), await host.person("bob")];
    const key = await host.key({ userId: ann.id }, []);
    const flagKey = newKey();
    const headers = { "idempotency-key": "the same key" };
    const ids: string[] = [];
    for (const as of [ann, bob, key, undefined]) {
      const first = await send({ flagKey, event: "e" }, as, headers);
      expect((await send({ flagKey, event: "e" }, as, headers)).json).toEqual(first.json);
      ids.push(first.json.eventId);
    }
    expect(new Set(ids).size).toBe(4);
    // What somebody unknown claims to be does not open another's scope.
    const claimed = await send({ flagKey, event: "other", context: { userId: ann.id } }, undefined, {
      "idempotency-key": "another key",
    });
    const own = await send({ flagKey, event: "e" }, ann, { "idempotency-key": "another key" });
    expect([claimed.status, own.status]).toEqual([200, 200]);
  });

  test("an idempotency key is one organization's", async () => {
    const owner = await host.person("owner-of-two");
    const one = await host.organization(owner, "one");
    const two = await host.organization(owner, "two");
    const flagKey = newKey();
    const headers = { "idempotency-key": "per organization" };
    const answers = await Promise.all(
      [one, two].map((organizationId) =>
        send({ flagKey, event: "e", context: { organizationId } }, owner, headers),
      ),
    );
    expect(new Set(answers.map(({ json }) => json.eventId)).size).toBe(2);
  });

  test("server code stays trusted with the header Idempotency-Key alone", async () => {
    const flagKey = newKey();
    const call = (event: string) =>
      host.auth.api.createFeatureFlagEvent({
        body: { flagKey, event, context: { userId: "anybody", role: "admin" } },
        headers: new Headers({ "Idempotency-Key": "of the server" }),
      });
    const first = await call("e");
    expect(first.success).toBe(true);
    expect(await call("e")).toEqual(first);
    await expect(call("other")).rejects.toMatchObject({ statusCode: 409 });
    expect((await rowOf(flagKey)).userId).toBe("anybody");
  });
});

describe("The variant of an event", () => {
  const variants = [
    { key: "a", weight: 100, value: "A" },
    { key: "b", weight: 0, value: "B" },
  ];

  test("is the one the flag evaluates to for the caller, and neither an evaluation nor an exposure", async () => {
    const made = await make({ variants });
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: made.id, userId: "special", value: "B", variant: "b" },
    });
    await send({ flagKey: made.key, event: "e", context: { userId: "somebody" } });
    await send({ flagKey: made.key, event: "e", context: { userId: "special" } });
    expect((await rowsOf(made.key)).map(({ variant }) => variant).sort()).toEqual(["a", "b"]);
    const { json } = await host.call("GET", `/feature-flags/admin/flags/${made.id}/stats`, { as: admin });
    expect([json.evaluations, json.uniqueUsers, json.byVariant.a.exposures]).toEqual([0, 0, 0]);
    const exposures = await host.adapter.findMany<ExposureRow>({
      model: "featureFlagExposure",
      where: [{ field: "flagKey", value: made.key }],
    });
    expect(exposures).toEqual([]);
  });

  test("is absent for a flag without variants and for one that does not exist", async () => {
    const plain = await make();
    const unknown = newKey();
    await send({ flagKey: plain.key, event: "e" });
    await send({ flagKey: unknown, event: "e" });
    expect((await rowOf(plain.key)).variant).toBeNull();
    expect((await rowOf(unknown)).variant).toBeNull();
  });

  test("is that of the ring the caller is in", async () => {
    const made = await make({ variants, environments: { beta: { enabled: false } } });
    await send({ flagKey: made.key, event: "e" }, undefined, { "x-deployment-ring": "beta" });
    expect((await rowOf(made.key)).variant).toBeNull();
  });
});

describe("Sampling", () => {
  test("keeps an event when the hash of its id falls under the rate, and statistics divide by it", async () => {
    const made = await make();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        host.auth.api.createFeatureFlagEvent({ body: { flagKey: made.key, event: "e", sampleRate: 0.25 } }),
      ),
    );
    const kept = answers.map(({ eventId }) => eventId).filter((id) => murmur3(id) < 0.25 * 2 ** 32);
    expect((await rowsOf(made.key)).map(({ eventId }) => eventId).sort()).toEqual(kept.sort());
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(100);
    const { json } = await host.call("GET", `/feature-flags/admin/flags/${made.id}/stats`, { as: admin });
    expect(json.byVariant[""].events.e.count).toBe(kept.length * 4);
  });
});

describe("Limits of events", () => {
  test("the body of an event is at most 64 KiB, of a batch 256 KiB", async () => {
    const big = { flagKey: "k", event: "e", more: "x".repeat(64 * 1024) };
    const single = await send(big);
    isRefused(single, 400, "VALIDATION_ERROR");
    expect(single.json.details).toEqual({ limit: 64 * 1024 });
    expect((await sendBatch({ events: [big] })).status).toBe(200);
    const batch = await sendBatch({ events: [big, big, big, big] });
    isRefused(batch, 400, "VALIDATION_ERROR");
    expect(batch.json.details).toEqual({ limit: 256 * 1024 });
  });

  test("a full queue is 429 with Retry-After, and nothing that was accepted is lost", async () => {
    const small = await memoryHost({ flags: { events: { maxQueued: 3 } } });
    const way = WAYS[1]?.[1]({ host: small, admin });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => way?.event({ flagKey: "full", event: "e" })),
    );
    const refused = answers.filter((answer) => answer?.status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      if (answer === undefined) continue;
      isRefused(answer, 429, "RATE_LIMIT_EXCEEDED");
      expect(answer.json.details).toEqual({ retryAfter: 1 });
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    expect(await rowsOf("full", small)).toHaveLength(100 - refused.length);
  });
});

describe("Events where there are tenants", () => {
  test("belong to the organization's flag, or to the one of all organizations", async () => {
    const tenants = await memoryHost({ flags: { multiTenant: true } });
    const owner = await tenants.person("owner");
    const org = await tenants.organization(owner, "org");
    const create = (key: string, organizationId: string) =>
      tenants.auth.api.createFeatureFlag({ body: { key, name: "N", type: "boolean", organizationId } });
    await create("own", org);
    await create("global", "");
    for (const flagKey of ["own", "global", "unknown"]) {
      await tenants.request("/feature-flags/events", { flagKey, event: "e" }, owner.headers);
    }
    await tenants.request("/feature-flags/events", { flagKey: "own", event: "e" });
    const tenantsOf = async (flagKey: string) =>
      (await rowsOf(flagKey, tenants)).map(({ tenant, organizationId }) => [tenant, organizationId]);
    expect(await tenantsOf("own")).toEqual([
      [org, org],
      ["", null],
    ]);
    expect(await tenantsOf("global")).toEqual([["", org]]);
    expect(await tenantsOf("unknown")).toEqual([[org, org]]);
  });
});
