import { describe, expect, test } from "vitest";
import { personalPermissions, readKey } from "./keys.ts";
import type { IdentityRequest } from "./request.ts";

const KEY = {
  id: "k1",
  referenceId: "ann",
  permissions: { flags: ["read", "write"] },
  remaining: null,
  rateLimitEnabled: false,
  expiresAt: null,
};
const WITH_KEY = { "x-api-key": "secret" };

const USERS: Readonly<Record<string, object>> = {
  ann: { id: "ann", email: "ann@example.com", role: "admin", banned: false },
  banned: { id: "banned", email: "b@example.com", banned: true },
  pardoned: { id: "pardoned", email: "p@example.com", banned: true, banExpires: new Date(0) },
  both: { id: "both", email: "both@example.com" },
};
const ORGANIZATIONS = ["acme", "both"];
const ANN = { kind: "user", user: { id: "ann", email: "ann@example.com", role: "admin" } };

/** Reads the key of a request to a host whose key plugin gives this answer. */
function setUp(answer: object, headers: Record<string, string> = WITH_KEY, id = "api-key") {
  const inputs: unknown[] = [];
  const verifyApiKey = async (input: unknown) => {
    inputs.push(input);
    return answer;
  };
  const context = {
    options: { plugins: [{ id: "other" }, { id: "organization" }, { id, endpoints: { verifyApiKey } }] },
    internalAdapter: { findUserById: async (userId: string) => USERS[userId] ?? null },
    adapter: {
      findOne: async ({ where }: { where: [{ value: string }] }) =>
        ORGANIZATIONS.includes(where[0].value) ? {} : null,
    },
  };
  const request = { context, headers: new Headers(headers) } as unknown as IdentityRequest;
  return { inputs, context, read: (resource = "flags") => readKey(request, resource) };
}

const accept = (fields: object = {}) => setUp({ valid: true, error: null, key: { ...KEY, ...fields } });
const refuse = (error?: unknown) => setUp({ valid: false, error, key: null }).read();

describe("an API key", () => {
  test("identifies its owner with the actions on the resource, when the key plugin says it is valid", async () => {
    const { read, inputs, context } = accept();
    expect(await read()).toEqual({
      key: { id: "k1", actions: ["read", "write"], ownerId: "ann", owner: ANN, isPersonal: false },
      validUntilMs: Number.POSITIVE_INFINITY,
    });
    expect(inputs).toEqual([{ body: { key: "secret" }, context }]);
  });

  test("is not looked up when the request has none, or the host has no key plugin", async () => {
    const without = setUp({ valid: true, key: KEY }, { authorization: "secret" });
    const another = setUp({ valid: true, key: KEY }, WITH_KEY, "another-plugin");
    expect([await without.read(), await another.read()]).toEqual([undefined, undefined]);
    expect([without.inputs, another.inputs]).toEqual([[], []]);
    const endpoints = { verifyApiKey: "no function" };
    for (const options of [
      {},
      { plugins: [{ id: "api-key" }] },
      { plugins: [{ id: "api-key", endpoints }] },
    ]) {
      const request = { context: { options }, headers: new Headers(WITH_KEY) };
      expect(await readKey(request as unknown as IdentityRequest, "flags")).toBeUndefined();
    }
  });

  test("without permissions on the resource, or without an owner, identifies no caller", async () => {
    for (const permissions of [null, undefined, "flags", {}, { other: ["read"] }, { flags: "read" }]) {
      expect(await accept({ permissions }).read(), JSON.stringify(permissions)).toBeUndefined();
    }
    expect(await accept({ permissions: { flags: ["read"] } }).read("toString")).toBeUndefined();
    const inherited = Object.create({ flags: ["read"] }) as object;
    expect(await accept({ permissions: inherited }).read()).toBeUndefined();
    expect(await accept({ referenceId: undefined }).read()).toBeUndefined();
    expect(await accept({ referenceId: 7 }).read()).toBeUndefined();
  });

  test("grants no action that is not a text", async () => {
    const found = await accept({ permissions: { flags: ["read", 1, null, ["write"]] } }).read();
    expect(found?.key.actions).toEqual(["read"]);
  });

  test.each([
    ["has remaining uses", { remaining: 5 }],
    ["has no remaining uses", { remaining: 0 }],
    ["has a rate limit", { rateLimitEnabled: true }],
    ["may have a rate limit", { rateLimitEnabled: undefined }],
  ])("must be verified for every request when it %s", async (_what, fields) => {
    const found = await accept(fields).read();
    expect(found).toEqual({ key: expect.objectContaining({ id: "k1" }), validUntilMs: undefined });
  });

  test("counts until it expires, and without an end when it does not", async () => {
    const expiresAt = new Date("2100-06-01T12:00:00Z");
    expect((await accept({ expiresAt }).read())?.validUntilMs).toBe(expiresAt.getTime());
    const open = await accept({ remaining: undefined, expiresAt: undefined }).read();
    expect(open?.validUntilMs).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("the owner of an API key", () => {
  const ownerOf = async (referenceId: string) => (await accept({ referenceId }).read())?.key.owner;

  test("is a user, an organization, or no person at all", async () => {
    expect(await ownerOf("ann")).toEqual(ANN);
    expect(await ownerOf("pardoned")).toMatchObject({ kind: "user", user: { id: "pardoned" } });
    expect(await ownerOf("acme")).toEqual({ kind: "organization" });
    expect(await ownerOf("service:billing")).toEqual({ kind: "service" });
  });

  test("is unclear where a user and an organization have the same id", async () => {
    expect(await ownerOf("both")).toEqual({ kind: "unclear" });
  });

  test("ends the key when it was removed or is banned", async () => {
    for (const referenceId of ["gone", "banned", "", "\0"]) {
      await expect(ownerOf(referenceId), referenceId).rejects.toMatchObject({
        problem: "invalid-key",
        message: expect.stringContaining("banned or removed"),
      });
    }
  });

  test("that cannot be read is an outage, and the key is not refused", async () => {
    const { read, context } = accept();
    context.internalAdapter.findUserById = () => Promise.reject(new Error("down"));
    await expect(read()).rejects.toMatchObject({ problem: "unavailable" });
  });
});

describe("an API key that a person made", () => {
  const made = (untilMs: number, fields: object = {}) =>
    accept({ permissions: personalPermissions("flags", ["read"], untilMs), ...fields });

  test("says so in its permissions, with its end, which counts beside that of the key plugin", async () => {
    const untilMs = Date.UTC(2100, 0, 1);
    expect(await made(untilMs).read()).toMatchObject({
      key: { actions: ["read"], owner: ANN, isPersonal: true },
      validUntilMs: untilMs,
    });
    const expiresAt = new Date(untilMs - 1);
    expect((await made(untilMs, { expiresAt }).read())?.validUntilMs).toBe(untilMs - 1);
    const text = JSON.stringify(personalPermissions("flags", ["read"], untilMs));
    expect((await accept({ permissions: text }).read())?.key.isPersonal).toBe(true);
  });

  test("has ended when its time is over or cannot be read, and when it belongs to no person", async () => {
    const ended = { problem: "invalid-key" };
    await expect(made(Date.now() - 1).read()).rejects.toMatchObject(ended);
    const permissions = { flags: ["read"], flagsPersonalUntil: ["soon"] };
    await expect(accept({ permissions }).read()).rejects.toMatchObject(ended);
    const withoutTime = { flags: ["read"], flagsPersonalUntil: [] };
    await expect(accept({ permissions: withoutTime }).read()).rejects.toMatchObject(ended);
    for (const referenceId of ["acme", "service:billing"])
      await expect(made(Date.UTC(2100, 0, 1), { referenceId }).read()).rejects.toMatchObject(ended);
  });
});

describe("a refused API key", () => {
  test("is an error, and its sender is not treated as an anonymous visitor", async () => {
    const invalid = { problem: "invalid-key", message: expect.stringContaining("x-api-key") };
    await expect(refuse({ code: "KEY_NOT_FOUND", message: "Not found" })).rejects.toMatchObject(invalid);
    await expect(refuse({ code: "INVALID_API_KEY", message: "Invalid" })).rejects.toMatchObject(invalid);
    await expect(refuse({ code: "INVALID_API_KEY", message: null })).rejects.toMatchObject(invalid);
    await expect(refuse({ code: "KEY_EXPIRED", message: {} })).rejects.toMatchObject(invalid);
    await expect(refuse(null)).rejects.toMatchObject(invalid);
    await expect(refuse()).rejects.toMatchObject(invalid);
    await expect(setUp({ valid: false, key: KEY }).read()).rejects.toMatchObject(invalid);
    await expect(setUp({ valid: true, key: null }).read()).rejects.toMatchObject(invalid);
  });

  test("is reported as an outage when the key plugin could not read its store", async () => {
    await expect(refuse({ code: "INVALID_API_KEY", message: { code: "X" } })).rejects.toMatchObject({
      problem: "unavailable",
      retryAfterSeconds: 5,
      message: expect.stringContaining("x-api-key"),
    });
  });

  test.each([
    ["in whole seconds, rounded up", "RATE_LIMITED", { tryAgainIn: 1500 }, 2],
    ["not at all when the plugin does not say it", "USAGE_EXCEEDED", undefined, undefined],
    ["not at all when the details are empty", "RATE_LIMITED", null, undefined],
    ["not at all when the details are a text", "RATE_LIMITED", "soon", undefined],
    ["not at all when the time is no number", "RATE_LIMITED", { tryAgainIn: "1500" }, undefined],
  ])("that used up its requests tells when to retry %s", async (_what, code, details, seconds) => {
    const error = await refuse({ code, message: "Limit", details }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      problem: "key-exhausted",
      retryAfterSeconds: seconds,
      message: expect.stringContaining("x-api-key"),
    });
  });
});
