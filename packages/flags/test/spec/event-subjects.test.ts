/** Checks which user, variant and organization an event belongs to, how it is sampled, and its limits. */
import { describe, expect, test } from "vitest";
import { murmur3 } from "../../src/engine/murmur.ts";
import type { ExposureRow } from "../../src/model/event-rows.ts";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { isRefused, newFlag, rowOf, rowsOf } from "./event-helpers.ts";
import { WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const make = async (fields: object = {}) =>
  (await host.createFlag({ key: newKey(), name: "N", type: "string", enabled: true, ...fields }, admin)).json;

const send = (
  body: unknown,
  as?: { headers: Record<string, string> },
  headers: Record<string, string> = {},
) => host.request("/feature-flags/events", body, { ...as?.headers, ...headers });
const sendBatch = (body: unknown, as?: { headers: Record<string, string> }) =>
  host.request("/feature-flags/events/batch", body, as?.headers);

describe("guide/flags-events: Event", () => {
  test("an event of a session belongs to its user, or to another user with evaluate-as only", async () => {
    const user = await host.person("about");
    const flagKey = await newFlag(host);
    await send({ flagKey, event: "e", context: { attributes: { plan: "pro" } } }, user);
    expect((await rowOf(host, flagKey)).userId).toBe(user.id);
    isRefused(
      await send({ flagKey, event: "e", context: { userId: "other" } }, user),
      403,
      "PERMISSION_DENIED",
    );
    await send({ flagKey, event: "as", context: { userId: "other" } }, admin);
    expect((await rowsOf(host, flagKey)).find(({ event }) => event === "as")?.userId).toBe("other");
  });

  test("an event of an anonymous visitor belongs to the claimed user, unless identity is verified", async () => {
    const flagKey = await newFlag(host);
    await send({ flagKey, event: "e", context: { userId: "u1" } });
    expect((await rowOf(host, flagKey)).userId).toBe("u1");
    for (const context of [{ role: "admin" }, { email: "e@example.com" }]) {
      isRefused(await send({ flagKey, event: "e", context }), 401, "PERMISSION_DENIED");
    }
    const strict = await memoryHost({ flags: { identity: "verified" } });
    await newFlag(strict, flagKey);
    const refused = await strict.request("/feature-flags/events", {
      flagKey,
      event: "e",
      context: { userId: "u1" },
    });
    isRefused(refused, 401, "PERMISSION_DENIED");
    expect((await strict.request("/feature-flags/events", { flagKey, event: "e" })).status).toBe(200);
  });

  test("in a batch, only the events with a forbidden claim fail", async () => {
    const user = await host.person("batcher");
    const flagKey = await newFlag(host);
    const events = [
      { flagKey, event: "e" },
      { flagKey, event: "e", context: { userId: "other" } },
      { flagKey, event: "e", context: { userId: user.id } },
    ];
    const { json } = await sendBatch({ events }, user);
    expect([json.success, json.failed]).toEqual([2, 1]);
    expect((await rowsOf(host, flagKey)).map(({ userId }) => userId)).toEqual([user.id, user.id]);
  });

  test("an event that an organization's owner records as another user is the owner's own on a global flag", async () => {
    const tenants = await memoryHost({ flags: { multiTenant: true, identity: "verified" } });
    const owner = await tenants.person("owner");
    const organizationId = await tenants.organization(owner, "acme");
    const created = async (organization: string) => {
      const body = { key: newKey(), name: "N", type: "string" as const, enabled: true };
      return tenants.auth.api.createFeatureFlag({ body: { ...body, organizationId: organization } });
    };
    const [global, own] = [await created(""), await created(organizationId)];
    const context = { userId: "victim", email: "victim@example.com", organizationId };
    for (const { key: flagKey } of [global, own]) {
      const event = { flagKey, event: "e", context, idempotencyKey: flagKey };
      await tenants.request("/feature-flags/events", event, owner.headers);
      const events = [{ flagKey, event: "e", context }];
      await tenants.request("/feature-flags/events/batch", { events }, owner.headers);
    }
    const usersOf = async (flagKey: string) => (await rowsOf(tenants, flagKey)).map(({ userId }) => userId);
    expect(await usersOf(global.key)).toEqual([owner.id, owner.id]);
    expect(await usersOf(own.key)).toEqual(["victim", "victim"]);
    // The owner does not use up the user's idempotency keys for global flags.
    const honest = await tenants.auth.api.createFeatureFlagEvent({
      body: { flagKey: global.key, event: "honest", context, idempotencyKey: global.key },
    });
    expect(honest.success).toBe(true);
  });

  test("characters in a user id that databases cannot store are replaced", async () => {
    const flagKey = await newFlag(host);
    expect((await send({ flagKey, event: "e", context: { userId: "a\0b\ud800" } })).status).toBe(200);
    expect((await rowOf(host, flagKey)).userId).toBe("a\ufffdb\ufffd");
  });
});

describe("guide/flags-events: Event (variant)", () => {
  const variants = [
    { key: "a", weight: 100, value: "A" },
    { key: "b", weight: 0, value: "B" },
  ];

  test("an event has the variant its user gets, and counts neither as an evaluation nor as an exposure", async () => {
    const created = await make({ variants });
    await host.auth.api.createFeatureFlagOverride({
      body: { flagId: created.id, userId: "special", value: "B", variant: "b" },
    });
    await send({ flagKey: created.key, event: "e", context: { userId: "somebody" } });
    await send({ flagKey: created.key, event: "e", context: { userId: "special" } });
    expect((await rowsOf(host, created.key)).map(({ variant }) => variant).sort()).toEqual(["a", "b"]);
    const { json } = await host.call("GET", `/feature-flags/admin/flags/${created.id}/stats`, { as: admin });
    expect([json.evaluations, json.uniqueUsers, Object.keys(json.byVariant)]).toEqual([0, 0, [""]]);
    const exposures = await host.adapter.findMany<ExposureRow>({
      model: "featureFlagExposure",
      where: [{ field: "flagId", value: created.id }],
    });
    expect(exposures).toEqual([]);
  });

  test("an event has no variant if the flag has none or does not exist", async () => {
    const plain = await make();
    const unknown = newKey();
    await send({ flagKey: plain.key, event: "e" });
    await send({ flagKey: unknown, event: "e" }, await host.person(newKey("user")));
    expect((await rowOf(host, plain.key)).variant).toBeNull();
    expect((await rowOf(host, unknown)).variant).toBeNull();
  });

  test("the variant of an event is evaluated in the caller's environment", async () => {
    const created = await make({ variants, environments: { beta: { enabled: false } } });
    await send({ flagKey: created.key, event: "e" }, undefined, { "x-deployment-ring": "beta" });
    expect((await rowOf(host, created.key)).variant).toBeNull();
  });
});

describe("guide/flags-events: Sampling", () => {
  test("an event is stored if the hash of its id is below the rate, and statistics divide by the rate", async () => {
    const created = await make();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        host.auth.api.createFeatureFlagEvent({
          body: { flagKey: created.key, event: "e", sampleRate: 0.25 },
        }),
      ),
    );
    const kept = answers.map(({ eventId }) => eventId).filter((id) => murmur3(id) < 0.25 * 2 ** 32);
    expect((await rowsOf(host, created.key)).map(({ eventId }) => eventId).sort()).toEqual(kept.sort());
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(100);
    const { json } = await host.call("GET", `/feature-flags/admin/flags/${created.id}/stats`, { as: admin });
    expect(json.byVariant[""].events.e.count).toBe(kept.length * 4);
  });
});

describe("guide/flags-http: Limits", () => {
  test("the body of an event has at most 64 KiB, and of a batch at most 256 KiB", async () => {
    const big = { flagKey: "k", event: "e", more: "x".repeat(64 * 1024) };
    const single = await send(big);
    isRefused(single, 400, "VALIDATION_ERROR");
    expect(single.json.details).toEqual({ limit: 64 * 1024 });
    expect((await sendBatch({ events: [big] })).status).toBe(200);
    const batch = await sendBatch({ events: [big, big, big, big] });
    isRefused(batch, 400, "VALIDATION_ERROR");
    expect(batch.json.details).toEqual({ limit: 256 * 1024 });
  });

  test("an event is 429 with Retry-After while the queue is full, and no accepted event is lost", async () => {
    const small = await memoryHost({ bounds: { maxQueued: 3 } });
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
    expect(await rowsOf(small, "full")).toHaveLength(100 - refused.length);
  });
});

describe("guide/flags-tenants: With multiTenant", () => {
  test("an event belongs to the organization's flag, else to the global flag", async () => {
    const tenants = await memoryHost({ flags: { multiTenant: true } });
    const owner = await tenants.person("owner");
    const org = await tenants.organization(owner, "org");
    const create = (key: string, organizationId: string) =>
      tenants.auth.api.createFeatureFlag({ body: { key, name: "N", type: "boolean", organizationId } });
    await create("theirs", org);
    await create("global", "");
    for (const flagKey of ["theirs", "global", "unknown"]) {
      await tenants.request("/feature-flags/events", { flagKey, event: "e" }, owner.headers);
    }
    const anonymous = await tenants.request("/feature-flags/events", { flagKey: "theirs", event: "e" });
    isRefused(anonymous, 404, "FLAG_NOT_FOUND");
    const tenantsOf = async (flagKey: string) =>
      (await rowsOf(tenants, flagKey)).map(({ tenant, organizationId }) => [tenant, organizationId]);
    expect(await tenantsOf("theirs")).toEqual([[org, org]]);
    expect(await tenantsOf("global")).toEqual([["", org]]);
    expect(await tenantsOf("unknown")).toEqual([[org, org]]);
  });
});
