/** Checks the fields of overrides, their expiry, and when the server refuses one. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { flagHelpers, ISO } from "./flag-helpers.ts";
import { WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-http-admin: Overrides (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make, evaluated } = flagHelpers(way);

  const later = () => new Date(Date.now() + 3_600_000).toISOString();

  test("every field is returned as sent, including enabled and variant", async () => {
    const flag = await make({ variants: [{ key: "v", weight: 100, value: "x" }] });
    const fields = {
      flagId: flag.id,
      userId: "u",
      value: "o",
      reason: "why",
      variant: "v",
      expiresAt: later(),
    };
    const { status, json } = await way().createOverride(fields);
    expect(status).toBe(201);
    expect(json).toMatchObject({ ...fields, enabled: true, createdAt: expect.stringMatching(ISO) });
    expect(await evaluated(flag.key, { userId: "u" })).toMatchObject({
      value: "o",
      variant: "v",
      reason: "override",
    });
  });

  test("a disabled or expired override has no effect, and an expired one can be replaced", async () => {
    const flag = await make();
    await way().createOverride({ flagId: flag.id, userId: "off", value: "o", enabled: false });
    expect((await evaluated(flag.key, { userId: "off" })).reason).toBe("default");
    const soon = new Date(Date.now() + 2_000).toISOString();
    await way().createOverride({ flagId: flag.id, userId: "u", value: "o", expiresAt: soon });
    expect((await evaluated(flag.key, { userId: "u" })).reason).toBe("override");
    await expect
      .poll(async () => (await evaluated(flag.key, { userId: "u" })).reason, { timeout: 10_000 })
      .toBe("default");
    expect((await way().createOverride({ flagId: flag.id, userId: "u", value: "p" })).status).toBe(201);
    expect((await evaluated(flag.key, { userId: "u" })).value).toBe("p");
  });

  test.each([
    [{ userId: undefined }],
    [{ userId: "" }],
    [{ value: undefined }],
    [{ expiresAt: "tomorrow" }],
    [{ expiresAt: 5 }],
    [{ expiresAt: "2020-01-01T00:00:00Z" }],
    [{ variant: "none" }],
    [{ enabled: "yes" }],
    [{ colour: "red" }],
  ])("an override with %j is refused", async (fields) => {
    const { id } = await make();
    const answer = await way().createOverride({ flagId: id, userId: "u", value: "o", ...fields });
    expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test("a value of another type is 400, a second override for the same flag and user is 409, an unknown flag is 404", async () => {
    const { id } = await make();
    const misfit = await way().createOverride({ flagId: id, userId: "u", value: 5 });
    expect([misfit.status, misfit.json.code]).toEqual([400, "INVALID_FLAG_TYPE"]);
    await way().createOverride({ flagId: id, userId: "u", value: "o" });
    const second = await way().createOverride({ flagId: id, userId: "u", value: "p" });
    expect([second.status, second.json.code]).toEqual([409, "VALIDATION_ERROR"]);
    const unknown = await way().createOverride({ flagId: "nope", userId: "u", value: "o" });
    expect([unknown.status, unknown.json.code]).toEqual([404, "FLAG_NOT_FOUND"]);
  });

  test("an override may name any id, and one that looks like an email without being a user's id has a warning", async () => {
    const { id: flagId, key } = await make();
    for (const userId of ["auth0|17", "cust@localhost", admin.id]) {
      const { status, json } = await way().createOverride({ flagId, userId, value: "o" });
      expect([status, json.warnings]).toEqual([201, undefined]);
    }
    for (const userId of ["ada@example.com", admin.email]) {
      const { status, json } = await way().createOverride({ flagId, userId, value: "o" });
      const message = `No user has the id "${userId}", and it looks like an email. The override applies only where server code or an API key evaluates for this id. For a user who signs in, use user.id of the session.`;
      expect([status, json.warnings]).toEqual([201, [{ code: "UNKNOWN_USER", message }]]);
      expect((await evaluated(key, { userId })).reason).toBe("override");
    }
  });
});

describe("guide/flags-http-admin: Overrides", () => {
  const create = async ({ auth }: Host, userId: string) => {
    const { key } = await auth.api.createFeatureFlag({ body: { key: newKey(), name: "N", type: "boolean" } });
    return auth.api.createFeatureFlagOverride({ body: { flagId: key, userId, value: true } });
  };

  test("an email that is the id of a user has no warning", async () => {
    const email = "ada@example.com";
    const now = new Date();
    const data = { id: email, email, name: "Ada", emailVerified: true, createdAt: now, updatedAt: now };
    await host.adapter.create({ model: "user", forceAllowId: true, data });
    expect(await create(host, email)).not.toHaveProperty("warnings");
  });

  test("where visitors cannot claim an id, an override for an id that no user has comes with a warning", async () => {
    const verified = await memoryHost({ flags: { identity: "verified" } });
    const { id } = await verified.person("ada");
    expect(await create(verified, id)).not.toHaveProperty("warnings");
    const [warning] = (await create(verified, "ghost")).warnings ?? [];
    expect(warning).toMatchObject({
      code: "UNKNOWN_USER",
      message: expect.stringContaining('identity is "verified"'),
    });
  });
});
