/** Checks the fields of overrides, their expiry, and when the server refuses one. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { suiteHost } from "../memory-host.ts";
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
});
