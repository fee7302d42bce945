/** Checks the fields of flags and of their variants: what is accepted, refused and returned. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { flagHelpers, ISO } from "./flag-helpers.ts";
import { WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-http-admin: Flags (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make, refuse, evaluated } = flagHelpers(way);

  test("the server assigns the id", async () => {
    expect((await make()).id).toMatch(/^[0-9a-f-]{36}$/);
    await refuse({ id: "mine" });
  });

  test.each(["a", "A-b_9", "__proto__", "constructor", "-", "k".repeat(128)])(
    "the key %j is accepted",
    async (key) => {
      expect((await make({ key: `${key}` })).key).toBe(key);
      await way().deleteFlag((await way().listFlags({ prefix: key })).json.flags[0].id);
    },
  );

  test.each([undefined, "", "has space", "sl/ash", "dot.ted", "k\n", "ü", "k".repeat(129), 5])(
    "the key %j is refused: a key is required, URL-safe and 1–128 characters long",
    (key) => refuse({ key }),
  );

  test("a key is unique, on create and on rename", async () => {
    const [one, other] = [await make(), await make()];
    const again = await way().createFlag({ key: one.key, name: "N", type: "string" });
    expect([again.status, again.json.code, again.json.details.field]).toEqual([
      409,
      "VALIDATION_ERROR",
      "key",
    ]);
    expect((await way().updateFlag(other.id, { key: one.key })).status).toBe(409);
  });

  test("a rollout hashes the userId with the key, or with the salt if the flag has one", async () => {
    const users = Array.from({ length: 40 }, (_, at) => `user-${at}`);
    const cohort = async (key: string) =>
      Promise.all(
        users.map(async (userId) => (await evaluated(key, { userId })).reason === "percentage_rollout"),
      );
    const rollout = { type: "boolean", rolloutPercentage: 50 };
    const [one, other] = [await make(rollout), await make(rollout)];
    expect(await cohort(one.key)).not.toEqual(await cohort(other.key));
    expect(await cohort(one.key)).toEqual(await cohort(one.key));
    const salted = await make({ ...rollout, salt: one.key });
    expect(await cohort(salted.key)).toEqual(await cohort(one.key));
  });

  test.each([undefined, "", 5, "a\u0000", "\ud800"])(
    "the name %j is refused: a name is required and must be valid text",
    (name) => refuse({ name }),
  );

  test("the name and the description have no effect on evaluation", async () => {
    const flag = await make({ name: "Shown", description: "Also shown", defaultValue: "v" });
    expect([flag.name, flag.description]).toEqual(["Shown", "Also shown"]);
    const before = await evaluated(flag.key);
    await way().updateFlag(flag.id, { name: "Other", description: null });
    expect((await evaluated(flag.key)).value).toBe(before.value);
  });

  test.each(["boolean", "string", "number", "json"])("the type %s is accepted", async (type) => {
    expect((await make({ type })).type).toBe(type);
  });

  test("a type is required, and an unknown type is INVALID_FLAG_TYPE", async () => {
    await refuse({ type: undefined });
    for (const type of ["date", "Boolean", "", 5, null, {}]) await refuse({ type }, "INVALID_FLAG_TYPE");
  });

  test("enabled defaults to false, and a disabled flag evaluates to its defaultValue with reason disabled", async () => {
    const flag = await make({ enabled: undefined, defaultValue: "mine" });
    expect(flag.enabled).toBe(false);
    expect(await evaluated(flag.key)).toMatchObject({ value: "mine", reason: "disabled" });
    await refuse({ enabled: "yes" });
  });

  test.each([
    ["boolean", false],
    ["string", ""],
    ["number", 0],
    ["json", null],
  ])("a %s flag without a defaultValue evaluates to %j", async (type, empty) => {
    const flag = await make({ type });
    expect(flag).not.toHaveProperty("defaultValue");
    expect(await evaluated(flag.key)).toMatchObject({ value: empty, reason: "default" });
  });

  test.each([
    ["boolean", "true"],
    ["boolean", 0],
    ["boolean", null],
    ["string", 1],
    ["number", "1"],
    ["number", true],
  ])("a %s flag refuses %j as defaultValue and as offValue", async (type, defaultValue) => {
    await refuse({ type, defaultValue }, "INVALID_FLAG_TYPE");
    await refuse({ type, environments: { beta: { defaultValue } } }, "INVALID_FLAG_TYPE");
    await refuse({ type, offValue: defaultValue }, "INVALID_FLAG_TYPE");
    await refuse({ type, environments: { beta: { offValue: defaultValue } } }, "INVALID_FLAG_TYPE");
  });

  test.each([-1, 101, 12.5, "10"])(
    "the rolloutPercentage %j is refused: it must be an integer from 0 to 100",
    (rolloutPercentage) => refuse({ rolloutPercentage }),
  );

  test("a rollout is sticky, and all callers without a userId are in the same cohort", async () => {
    const flag = await make({ type: "boolean", rolloutPercentage: 50 });
    const anonymous = new Set<string>();
    for (let round = 0; round < 5; round++) {
      anonymous.add((await evaluated(flag.key, { attributes: { round } })).reason);
    }
    expect(anonymous.size).toBe(1);
    const [none, all] = [
      await make({ type: "boolean", rolloutPercentage: 0 }),
      await make({ type: "boolean", rolloutPercentage: 100 }),
    ];
    expect(await evaluated(none.key, { userId: "u" })).toMatchObject({ value: false, reason: "default" });
    expect(await evaluated(all.key, { userId: "u" })).toMatchObject({
      value: true,
      reason: "percentage_rollout",
    });
  });

  test("organizationId is an optional label by which lists can be filtered", async () => {
    const label = newKey("org");
    const flag = await make({ organizationId: label, offValue: "off" });
    expect(flag.organizationId).toBe(label);
    expect((await way().listFlags({ organizationId: label })).json.flags).toEqual([flag]);
    await refuse({ organizationId: 5 });
  });

  test("metadata may be any object and is never part of an evaluation", async () => {
    const flag = await make({ metadata: { secret: "canary", "2026-01-02T03:04:05.000Z": [null] } });
    expect(flag.metadata).toEqual({ secret: "canary", "2026-01-02T03:04:05.000Z": [null] });
    expect((await way().evaluate({ flagKey: flag.key, contextInResponse: true })).text).not.toContain(
      "canary",
    );
    await refuse({ metadata: [1] });
  });

  test("createdAt and updatedAt are ISO strings over HTTP", async () => {
    const { id, createdAt, updatedAt } = await make();
    expect([createdAt, updatedAt]).toEqual([expect.stringMatching(ISO), expect.stringMatching(ISO)]);
    const changed = (await way().updateFlag(id, { name: "M" })).json;
    expect(changed.createdAt).toBe(createdAt);
    expect(changed.updatedAt >= updatedAt).toBe(true);
  });

  test("environments, bucketBy and visibility are returned as sent, and unknown fields are refused", async () => {
    const fields = {
      environments: { beta: { enabled: false }, __proto__x: { rolloutPercentage: 5 } },
      bucketBy: "attributes.account.id",
      visibility: "server",
    };
    expect(await make(fields)).toMatchObject(fields);
    await refuse({ environments: { beta: { colour: "red" } } });
    await refuse({ environments: { "": {} } });
    await refuse({ environments: [] });
    for (const bucketBy of ["email", "attributes.", "", 5]) await refuse({ bucketBy });
    await refuse({ visibility: "secret" });
    await refuse({ salt: "" });
    await refuse({ colour: "red" });
  });
});

describe.each(WAYS)("guide/flags-rollouts: Variants (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make, refuse, evaluated } = flagHelpers(way);

  test("a variant is returned as sent, and its metadata is part of the evaluation", async () => {
    const variants = [{ key: "a b", weight: 100, value: "A", metadata: { colour: "red" } }];
    const flag = await make({ variants });
    expect(flag.variants).toEqual(variants);
    expect(await evaluated(flag.key)).toMatchObject({
      value: "A",
      variant: "a b",
      metadata: { variant: { colour: "red" } },
    });
  });

  test("weights must sum to 100, within 0.001", async () => {
    const thirds = [33.333, 33.333, 33.334].map((weight, at) => ({ key: `v${at}`, weight, value: "x" }));
    await make({ variants: thirds });
    await make({ variants: thirds.map((variant) => ({ ...variant, weight: 33.333 })) });
    for (const weight of [99, 101, 99.9]) await refuse({ variants: [{ key: "a", weight, value: "x" }] });
    await refuse({ variants: [] });
    await refuse({
      variants: [
        { key: "a", weight: -1, value: "x" },
        { key: "b", weight: 101, value: "x" },
      ],
    });
  });

  test("duplicate keys, values of another type and unknown fields are refused", async () => {
    await refuse({
      variants: [
        { key: "a", weight: 50, value: "x" },
        { key: "a", weight: 50, value: "y" },
      ],
    });
    await refuse({ variants: [{ key: "a", weight: 100, value: 5 }] }, "INVALID_FLAG_TYPE");
    await refuse({ variants: [{ key: "", weight: 100, value: "x" }] });
    await refuse({ variants: [{ key: "a", weight: 100 }] });
    await refuse({ variants: [{ key: "a", weight: 100, value: "x", colour: "red" }] });
  });
});

describe("guide/flags-http: How it works", () => {
  test("server methods return times as Date objects", async () => {
    const flag = await host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "boolean" },
    });
    expect([flag.createdAt, flag.updatedAt]).toEqual([expect.any(Date), expect.any(Date)]);
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const override = await host.auth.api.createFeatureFlagOverride({
      body: { flagId: flag.id, userId: "u", value: true, expiresAt },
    });
    expect(override.expiresAt).toEqual(new Date(expiresAt));
  });
});
