/** Checks idempotency keys: repeated requests, conflicts, and who shares a key. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { isRefused, newFlag, rowOf, rowsOf } from "./event-helpers.ts";
import { WAYS, type Way } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
  await newFlag(host, "k");
});

const send = (
  body: unknown,
  as?: { headers: Record<string, string> },
  headers: Record<string, string> = {},
) => host.request("/feature-flags/events", body, { ...as?.headers, ...headers });

describe.each(WAYS)("guide/flags-events: Idempotency (%s)", (_name, through) => {
  const way = (): Way => through({ host, admin });

  test("a repeated Idempotency-Key with the same body, in any order of its fields, returns the first response", async () => {
    const flagKey = await newFlag(host);
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
    expect((await rowOf(host, flagKey)).idempotencyKey).toBe(headers["idempotency-key"]);
  });

  test("a repeated Idempotency-Key with another body is 409", async () => {
    const headers = { "idempotency-key": newKey("key") };
    await way().event({ flagKey: "k", event: "e", value: 1 }, headers);
    isRefused(await way().event({ flagKey: "k", event: "e", value: 2 }, headers), 409, "VALIDATION_ERROR");
  });

  test("64 concurrent requests with one Idempotency-Key store one event and get the same response", async () => {
    const flagKey = await newFlag(host);
    const headers = { "idempotency-key": newKey("key") };
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => way().event({ flagKey, event: "e" }, headers)),
    );
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.eventId}`)).size).toBe(1);
    expect(await rowsOf(host, flagKey)).toHaveLength(1);
  });

  test("an Idempotency-Key that is empty or longer than 255 characters is 400", async () => {
    for (const key of ["", "k".repeat(256)]) {
      const answer = await way().event({ flagKey: "k", event: "e" }, { "idempotency-key": key });
      isRefused(answer, 400, "VALIDATION_ERROR");
    }
  });

  test("the idempotencyKey of a batch is its batchId; repeated it stores nothing, and with another body it is 409", async () => {
    const flagKey = await newFlag(host);
    const body = { events: [{ flagKey, event: "e" }, { flagKey }], idempotencyKey: newKey("batch") };
    const first = await way().eventBatch(body);
    expect(first.json).toEqual({ success: 1, failed: 1, batchId: body.idempotencyKey });
    expect((await way().eventBatch(body)).json).toEqual(first.json);
    expect(await rowsOf(host, flagKey)).toHaveLength(1);
    const other = { ...body, events: [{ flagKey, event: "e" }, { flagKey: "else" }] };
    isRefused(await way().eventBatch(other), 409, "VALIDATION_ERROR");
  });
});

describe("guide/flags-events: Idempotency", () => {
  test("the idempotencyKey in an event's body and the header Idempotency-Key are the same key", async () => {
    const flagKey = await newFlag(host);
    const key = newKey("key");
    const event = { flagKey, event: "e" };
    const first = await send(event, undefined, { "idempotency-key": key });
    expect((await send({ ...event, idempotencyKey: key })).json).toEqual(first.json);
    isRefused(await send({ ...event, value: 1, idempotencyKey: key }), 409, "VALIDATION_ERROR");
    expect(await rowsOf(host, flagKey)).toHaveLength(1);
  });

  test("the idempotencyKey of an event in a batch and the header Idempotency-Key are the same key", async () => {
    const flagKey = await newFlag(host);
    const key = newKey("key");
    const event = { flagKey, event: "e", value: 1 };
    await send(event, undefined, { "idempotency-key": key });
    const item = { ...event, idempotencyKey: key };
    const fresh = { ...event, idempotencyKey: newKey("key") };
    const answer = await host.request("/feature-flags/events/batch", {
      events: [item, fresh, fresh, { ...item, value: 2 }],
    });
    expect([answer.json.success, answer.json.failed]).toEqual([3, 1]);
    expect(await rowsOf(host, flagKey)).toHaveLength(2);
  });

  test("an idempotency key is scoped to the user, to the API key, or to all anonymous visitors", async () => {
    const [ann, bob] = [await host.person("ann"), await host.person("bob")];
    const key = await host.key({ userId: ann.id }, []);
    const flagKey = await newFlag(host);
    const headers = { "idempotency-key": "the same key" };
    const ids: string[] = [];
    for (const as of [ann, bob, key, undefined]) {
      const first = await send({ flagKey, event: "e" }, as, headers);
      expect((await send({ flagKey, event: "e" }, as, headers)).json).toEqual(first.json);
      ids.push(first.json.eventId);
    }
    expect(new Set(ids).size).toBe(4);
    // The claimed userId of an anonymous visitor does not give access to the user's idempotency keys.
    const claimed = await send({ flagKey, event: "other", context: { userId: ann.id } }, undefined, {
      "idempotency-key": "another key",
    });
    const asUser = await send({ flagKey, event: "e" }, ann, { "idempotency-key": "another key" });
    expect([claimed.status, asUser.status]).toEqual([200, 200]);
  });

  test("an idempotency key is scoped to the organization", async () => {
    const owner = await host.person("owner-of-two");
    const one = await host.organization(owner, "one");
    const two = await host.organization(owner, "two");
    const flagKey = await newFlag(host);
    const headers = { "idempotency-key": "per organization" };
    const answers = await Promise.all(
      [one, two].map((organizationId) =>
        send({ flagKey, event: "e", context: { organizationId } }, owner, headers),
      ),
    );
    expect(new Set(answers.map(({ json }) => json.eventId)).size).toBe(2);
  });

  test("server code names the idempotency key in the body and is trusted", async () => {
    const flagKey = newKey();
    const idempotencyKey = newKey("server");
    const call = (event: string) =>
      host.auth.api.createFeatureFlagEvent({
        body: { flagKey, event, idempotencyKey, context: { userId: "anybody", role: "admin" } },
      });
    const first = await call("e");
    expect(first.success).toBe(true);
    expect(await call("e")).toEqual(first);
    await expect(call("other")).rejects.toMatchObject({ statusCode: 409 });
    expect((await rowOf(host, flagKey)).userId).toBe("anybody");
  });

  test("a server call with only the header Idempotency-Key records an anonymous visitor's event", async () => {
    const strict = await memoryHost({ flags: { identity: "verified" } });
    const { auth, adapter } = strict;
    const flagKey = await newFlag(strict);
    const headers = new Headers({ "Idempotency-Key": newKey("header") });
    const claim = { flagKey, event: "e", context: { userId: "anybody" } };
    const claimed = auth.api.createFeatureFlagEvent({ body: claim, headers });
    await expect(claimed).rejects.toMatchObject({ statusCode: 401, body: { code: "PERMISSION_DENIED" } });
    await auth.api.createFeatureFlagEvent({ body: { flagKey, event: "e" }, headers });
    const rows = await adapter.findMany<{ userId: string | null }>({ model: "featureFlagEvent" });
    expect(rows.map(({ userId }) => userId)).toEqual([null]);
  });
});
