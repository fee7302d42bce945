/** Checks the fields of an event and of a batch, and what the server stores. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { isRefused, newFlag, rowOf, rowsOf } from "./event-helpers.ts";
import { WAYS, type Way } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
  await newFlag(host, "k");
});

const HOUR_MS = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

describe.each(WAYS)("guide/flags-events: Event (%s)", (_name, through) => {
  const way = (): Way => through({ host, admin });

  test("an event is stored, and the response is 200 with success and its id", async () => {
    const flagKey = await newFlag(host);
    const answer = await way().event({ flagKey, event: "click", value: 2.5 });
    expect([answer.status, answer.json]).toEqual([200, { success: true, eventId: expect.any(String) }]);
    expect(await rowOf(host, flagKey)).toMatchObject({
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
    ["unknown fields", { value: 6, more: true }, "6", null],
  ])("an event with %s is stored", async (_what, fields, value, properties) => {
    const flagKey = await newFlag(host);
    expect((await way().event({ flagKey, event: "e", ...fields })).status).toBe(200);
    expect(await rowOf(host, flagKey)).toMatchObject({ value, properties });
  });

  test.each([
    ["an event with an empty flagKey", { flagKey: "", event: "e" }],
    ["an event without a name", { flagKey: "k" }],
    ["an event with an empty name", { flagKey: "k", event: "" }],
    ["an event whose name is not a string", { flagKey: "k", event: 3 }],
    ["a flagKey over 128 characters", { flagKey: "k".repeat(129), event: "e" }],
    ["an event name with a NUL character", { flagKey: "k", event: "a\0b" }],
    ["a value that is a string", { flagKey: "k", event: "e", value: "1" }],
    ["a value and a number in properties", { flagKey: "k", event: "e", value: 1, properties: 1 }],
    ["properties that are a string", { flagKey: "k", event: "e", properties: "p" }],
    ["properties that are a list", { flagKey: "k", event: "e", properties: [] }],
    ["a timestamp that is not a time", { flagKey: "k", event: "e", timestamp: "yesterday" }],
    ["a timestamp over 48 hours ago", { flagKey: "k", event: "e", timestamp: ago(48 * HOUR_MS + 60_000) }],
    ["a timestamp over 5 minutes ahead", { flagKey: "k", event: "e", timestamp: ago(-6 * 60_000) }],
    ["a sampleRate below 0", { flagKey: "k", event: "e", sampleRate: -0.1 }],
    ["a sampleRate above 1", { flagKey: "k", event: "e", sampleRate: 1.1 }],
    ["a context that is not an object", { flagKey: "k", event: "e", context: "u" }],
    ["a body that is not an object", []],
  ])("%s is 400", async (_what, body) => {
    isRefused(await way().event(body), 400, "VALIDATION_ERROR");
  });

  test("timestamp may be up to 48 hours ago, with any UTC offset", async () => {
    const flagKey = await newFlag(host);
    const at = ago(47 * HOUR_MS);
    await way().event({ flagKey, event: "e", timestamp: at.replace("Z", "+00:00") });
    const row = await rowOf(host, flagKey);
    expect(row.at).toBe(at);
    expect(Date.now() - Date.parse(row.receivedAt)).toBeLessThan(60_000);
  });

  test("timestamp may be RFC 3339 in lower case or with a space", async () => {
    const at = ago(HOUR_MS);
    for (const timestamp of [
      at.toLowerCase(),
      at.replace("T", " "),
      at.replace("T", " ").replace("Z", "+00:00"),
    ]) {
      const flagKey = await newFlag(host);
      expect((await way().event({ flagKey, event: "e", timestamp })).status).toBe(200);
      expect((await rowOf(host, flagKey)).at).toBe(at);
    }
    for (const timestamp of [at.replace("T", "  "), at.slice(11), ` ${at}`]) {
      isRefused(await way().event({ flagKey: "k", event: "e", timestamp }), 400, "VALIDATION_ERROR");
    }
  });

  test("properties are at most 16 KiB", async () => {
    const answer = await way().event({ flagKey: "k", event: "e", properties: { p: "x".repeat(16 * 1024) } });
    isRefused(answer, 400, "VALIDATION_ERROR");
    expect(answer.json.details).toEqual({ limit: 16 * 1024 });
  });
});

describe.each(WAYS)("guide/flags-events: Sampling (%s)", (_name, through) => {
  const way = (): Way => through({ host, admin });

  test("sampleRate 0 stores no event and still succeeds", async () => {
    const flagKey = await newFlag(host);
    expect((await way().event({ flagKey, event: "e", sampleRate: 0 })).json.success).toBe(true);
    expect(await rowsOf(host, flagKey)).toEqual([]);
    expect((await way().event({ flagKey, event: "e", sampleRate: 1 })).json.success).toBe(true);
    expect(await rowsOf(host, flagKey)).toHaveLength(1);
  });

  test("the sampleRate of an event takes precedence over the batch's", async () => {
    const flagKey = await newFlag(host);
    const events = [
      { flagKey, event: "kept", sampleRate: 1 },
      { flagKey, event: "not" },
    ];
    expect((await way().eventBatch({ events, sampleRate: 0 })).json.success).toBe(2);
    expect((await rowsOf(host, flagKey)).map(({ event }) => event)).toEqual(["kept"]);
  });
});

describe.each(WAYS)("guide/flags-events: Batches (%s)", (_name, through) => {
  const way = (): Way => through({ host, admin });

  test("a batch returns how many events succeeded and failed, and its id", async () => {
    const flagKey = await newFlag(host);
    const good = { flagKey, event: "e", value: 1 };
    const events = [good, { flagKey }, good, { flagKey, event: "e", timestamp: "bad" }, 7, null];
    const answer = await way().eventBatch({ events });
    expect([answer.status, answer.json]).toEqual([
      200,
      { success: 2, failed: 4, batchId: expect.any(String) },
    ]);
    expect(await rowsOf(host, flagKey)).toHaveLength(2);
  });

  test("a batch in which every event fails is 200", async () => {
    const answer = await way().eventBatch({ events: [{}, {}] });
    expect([answer.status, answer.json.success, answer.json.failed]).toEqual([200, 0, 2]);
  });

  test.each([
    ["an absent list", {}],
    ["events that are not a list", { events: "x" }],
    ["an empty list", { events: [] }],
    ["an idempotencyKey that is not a string", { events: [{ flagKey: "k", event: "e" }], idempotencyKey: 1 }],
    ["a sampleRate above 1", { events: [{ flagKey: "k", event: "e" }], sampleRate: 2 }],
  ])("a batch with %s is 400", async (_what, body) => {
    isRefused(await way().eventBatch(body), 400, "VALIDATION_ERROR");
  });

  test("a batch has at most 1,000 events", async () => {
    const flagKey = await newFlag(host);
    const events = Array.from({ length: 1001 }, () => ({ flagKey, event: "e" }));
    const answer = await way().eventBatch({ events });
    isRefused(answer, 400, "VALIDATION_ERROR");
    expect(answer.json.details).toEqual({ limit: 1000 });
    expect((await way().eventBatch({ events: events.slice(1) })).json.success).toBe(1000);
  });
});

describe("guide/flags-events: Event (of a flag that does not exist)", () => {
  const batchOf = (known: string, unknown: string) => ({
    events: [
      { flagKey: unknown, event: "e" },
      { flagKey: known, event: "e" },
    ],
  });

  test("an anonymous caller gets 404, and in a batch the event fails; nothing is stored", async () => {
    const [known, unknown] = [await newFlag(host), newKey()];
    isRefused(
      await host.request("/feature-flags/events", { flagKey: unknown, event: "e" }),
      404,
      "FLAG_NOT_FOUND",
    );
    const batch = await host.request("/feature-flags/events/batch", batchOf(known, unknown));
    expect([batch.status, batch.json]).toMatchObject([200, { success: 1, failed: 1 }]);
    expect([(await rowsOf(host, known)).length, (await rowsOf(host, unknown)).length]).toEqual([1, 0]);
  });

  test("a flag that only servers see looks as if it did not exist", async () => {
    const key = newKey();
    await host.auth.api.createFeatureFlag({
      body: { key, name: "N", type: "boolean", visibility: "server" },
    });
    isRefused(
      await host.request("/feature-flags/events", { flagKey: key, event: "e" }),
      404,
      "FLAG_NOT_FOUND",
    );
  });

  test("a signed-in user and the server record it", async () => {
    const unknown = newKey();
    const body = { flagKey: unknown, event: "e" };
    expect((await host.request("/feature-flags/events", body, admin.headers)).status).toBe(200);
    await host.auth.api.createFeatureFlagEvent({ body });
    expect(await rowsOf(host, unknown)).toHaveLength(2);
  });
});
