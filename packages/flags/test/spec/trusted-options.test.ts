/** Checks what the option `trusted` refuses at the start, and what writes of rules tell about attributes. */
import { type FeatureFlagsOptions, featureFlags, type TrustedOptions } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { organization } from "better-auth/plugins";
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryDatabase, newKey, suiteHost } from "../memory-host.ts";
import { FIELD, FIELDS, TRUSTED, when } from "../trusted-host.ts";

/** The message with which the start fails, if it does. */
async function startWith(trusted: TrustedOptions, hasOrganizations = true): Promise<string | undefined> {
  try {
    const auth = betterAuth({
      baseURL: "http://localhost",
      secret: "a secret that is only good enough for tests, which is all it does",
      database: memoryDatabase(),
      logger: { disabled: true },
      user: {
        additionalFields: {
          plan: { type: "string", required: false },
          level: FIELD,
        },
      },
      plugins: [...(hasOrganizations ? [organization()] : []), featureFlags({ trusted })],
    });
    await auth.$context;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe("guide/flags-trusted: Fields that users can write", () => {
  test("the start fails for one, and names the field and both remedies", async () => {
    expect(await startWith({ user: ["plan"] })).toBe(
      'featureFlags: trusted.user has "plan", but users can write it: Better Auth accepts user.plan from requests unless the field has input: false. Set input: false on the field, or add "user.plan" to trusted.selfDeclared if rules may rely on what users say. See https://github.com/halyard/halyard/blob/main/docs/guide/flags-troubleshooting.md#start-up-and-programming-errors',
    );
  });

  test("fields that only the server writes start", async () => {
    expect(await startWith({ user: ["level", "emailVerified", "createdAt"], session: ["createdAt"] })).toBe(
      undefined,
    );
  });

  test("a field in selfDeclared starts", async () => {
    expect(await startWith({ user: ["plan", "name"], selfDeclared: ["user.plan", "user.name"] })).toBe(
      undefined,
    );
  });

  test.for<[string, TrustedOptions, string]>([
    ["a misspelt field", { user: ["emial"] }, 'the user has no such field. Did you mean "email"?'],
    ["a name that every object has", { user: ["constructor"] }, "the user has no such field"],
    ["a name of the user", { user: ["name"] }, "users can write it"],
    ["a name of the organization", { organization: ["name"] }, "members of the organization can write it"],
    ["the session's credential", { session: ["token"] }, "is the session's credential"],
    ["a path in a list of names", { user: ["user.level"] }, "the user has no such field"],
    [
      "an unlisted selfDeclared",
      { user: ["level"], selfDeclared: ["user.levle"] },
      'Did you mean "user.level"?',
    ],
  ])("%s does not start", async ([_name, trusted, message]) => {
    expect(await startWith(trusted)).toContain(message);
  });

  test("trusted.organization needs the organization plugin", async () => {
    expect(await startWith({ organization: ["createdAt"] }, false)).toContain("organization plugin");
  });
});

describe("guide/flags-trusted: Options", () => {
  test.for<[string, unknown, string]>([
    ["a misspelt option", { usr: ["plan"] }, 'trusted.usr is not an option. Did you mean "user"?'],
    ["a single name", { user: "plan" }, "trusted.user must be a list of field names"],
    ["a compute that is no function", { compute: { seats: 1 } }, "trusted.compute must be a function"],
    ["a time below 1 ms", { ttlMs: 0 }, "trusted.ttlMs must be"],
    ["a time of weeks", { ttlMs: 1e9 }, "trusted.ttlMs must be"],
  ])("%s is refused", ([_name, trusted, message]) => {
    expect(() => featureFlags({ trusted } as FeatureFlagsOptions)).toThrow(message);
  });
});

describe("guide/flags-trusted: Attribute paths", () => {
  let host: Host;
  let admin: Person;
  suiteHost({ ...FIELDS, flags: { trusted: TRUSTED } }, async (started) => {
    host = started;
    admin = await host.person("admin", "admin");
  });
  const newFlag = () =>
    host.auth.api.createFeatureFlag({ body: { key: newKey(), name: "N", type: "boolean", enabled: true } });

  test.for<[string, string, string | undefined]>([
    ["emial", "UNKNOWN_ATTRIBUTE", 'Did you mean "email"?'],
    ["organizationID2", "UNKNOWN_ATTRIBUTE", 'Did you mean "organizationId"?'],
    ["plam", "UNKNOWN_ATTRIBUTE", 'Did you mean "user.plan"?'],
    ["plan", "CLAIMED_ATTRIBUTE", 'Write "user.plan"'],
    ["user.pln", "UNKNOWN_ATTRIBUTE", 'Did you mean "user.plan"?'],
    ["usr.plan", "UNKNOWN_ATTRIBUTE", 'Did you mean "user.plan"?'],
    ["organisation.tier", "UNKNOWN_ATTRIBUTE", 'Did you mean "organization.tier"?'],
    ["session.other", "UNKNOWN_ATTRIBUTE", 'add "other" to the option trusted.session'],
    ["trusted.seats", "UNKNOWN_ATTRIBUTE", "trusted.compute"],
    ["geo.contry", "UNKNOWN_ATTRIBUTE", 'Did you mean "geo.country"?'],
  ])("a rule that reads %s has the warning %s", async ([attribute, code, message]) => {
    const { id } = await newFlag();
    const body = { priority: 1, conditions: when(attribute, "equals", "x"), value: true };
    const written = await host.call("POST", `/feature-flags/admin/flags/${id}/rules`, { as: admin, body });
    expect(written.status).toBe(201);
    expect(written.json.warnings).toEqual([{ code, message: expect.stringContaining(message ?? "") }]);
    const changed = await host.call("PATCH", `/feature-flags/admin/flags/${id}/rules/${written.json.id}`, {
      as: admin,
      body: { conditions: { conditions: [], not: when(attribute, "in", ["y"]) } },
    });
    expect(changed.json.warnings).toEqual(written.json.warnings);
    const rules = await host.auth.api.listFeatureFlagRules({ params: { flagId: id } });
    expect(rules.rules[0]).not.toHaveProperty("warnings");
  });

  test.for([
    "email",
    "attributes.emial",
    "attributes.plan",
    "country",
    "beta.group",
    "usr.theme",
    "geo.country",
    "user.plan",
    "organization.tier",
    "attributes.organizationRole",
  ])("a rule that reads %s has none", async (attribute) => {
    const { id } = await newFlag();
    const body = { flagId: id, priority: 1, conditions: when(attribute, "equals", "x"), value: true };
    expect(await host.auth.api.createFeatureFlagRule({ body })).not.toHaveProperty("warnings");
  });

  test("a segment has the same warnings", async () => {
    const { api } = host.auth;
    const written = await api.createFeatureFlagSegment({
      body: { key: newKey("segment"), conditions: when("emial", "equals", "x") },
    });
    expect(written.warnings).toMatchObject([{ code: "UNKNOWN_ATTRIBUTE" }]);
    const body = { conditions: when("email", "equals", "x") };
    expect(await api.updateFeatureFlagSegment({ params: { id: written.id }, body })).not.toHaveProperty(
      "warnings",
    );
  });
});
