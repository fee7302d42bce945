/** Checks the responses to callers, including those while the database fails. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { flag, memoryHost } from "./memory-host.ts";

/** Advances the clock that measures the age of snapshots. */
function passMs(ms: number): void {
  const now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now + ms);
  onTestFinished(() => void vi.restoreAllMocks());
}

describe("responses", () => {
  test("have the selected fields and always evaluatedAt", async () => {
    const { auth, evaluate } = await memoryHost();
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    const fieldsOf = async (body: object) =>
      Object.keys((await evaluate({ flagKey: "k", ...body })).json).sort();
    const full = ["evaluatedAt", "metadata", "reason", "value"];
    expect(await fieldsOf({})).toEqual(full);
    expect(await fieldsOf({ select: "full" })).toEqual(full);
    expect(await fieldsOf({ select: "value" })).toEqual(["evaluatedAt", "value"]);
    expect(await fieldsOf({ select: [] })).toEqual(["evaluatedAt"]);
    expect(await fieldsOf({ select: ["reason", "variant"] })).toEqual(["evaluatedAt", "reason"]);
    expect(await fieldsOf({ select: "value", contextInResponse: true })).toEqual([
      "context",
      "evaluatedAt",
      "value",
    ]);
    const { json } = await evaluate({ flagKey: "k" });
    expect(new Date(json.evaluatedAt).toISOString()).toBe(json.evaluatedAt);
    expect(json.metadata).toEqual({ revision: 1 });
  });

  test("for a flag that does not exist have the caller's default, of any type", async () => {
    const { evaluate } = await memoryHost();
    for (const given of ["x", false, 0, "", { a: [1] }]) {
      const answered = await evaluate({ flagKey: "none", default: given });
      expect(answered.status).toBe(200);
      expect(answered.json).toMatchObject({ value: given, reason: "not_found" });
    }
    expect((await evaluate({ flagKey: "none" })).json.value).toBeNull();
    for (const flagKey of ["__proto__", "constructor", "toString", ""]) {
      expect((await evaluate({ flagKey })).json.reason).toBe("not_found");
    }
  });

  test("forbid caching", async () => {
    const { person, evaluate, call } = await memoryHost();
    const admin = await person("admin", "admin");
    for (const { headers } of [
      await evaluate({ flagKey: "k" }),
      await call("GET", "/feature-flags/admin/flags", { as: admin }),
      await call("GET", "/feature-flags/admin/flags/nope", { as: admin }),
    ]) {
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  test("never contain the flag's metadata, name or description", async () => {
    const { auth, evaluate } = await memoryHost();
    await auth.api.createFeatureFlag({
      body: flag({ name: "secret", description: "secret", metadata: { secret: "secret" } }),
    });
    expect((await evaluate({ flagKey: "k", contextInResponse: true })).text).not.toContain("secret");
  });

  test("to an invalid request have code, message and details that name the problem", async () => {
    const { person, createFlag, evaluate } = await memoryHost();
    const admin = await person("admin", "admin");
    const refused = await createFlag(flag({ colour: "red" }), admin);
    expect(refused.status).toBe(400);
    expect(refused.json).toEqual({
      code: "VALIDATION_ERROR",
      message: 'The request is not valid. Unrecognized key: "colour"',
      details: { issues: [{ path: "", message: 'Unrecognized key: "colour"' }] },
    });
    expect((await createFlag(flag({ type: "date" }), admin)).json.code).toBe("INVALID_FLAG_TYPE");
    expect((await evaluate({})).json.code).toBe("VALIDATION_ERROR");
  });
});

describe("while the database fails", () => {
  test("evaluations use the last snapshot and are marked as stale", async () => {
    const { auth, evaluate, db } = await memoryHost();
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    await evaluate({ flagKey: "k" });
    db.exec("drop table featureFlagRevision");
    passMs(60_000);
    const answered = await evaluate({ flagKey: "k" });
    expect(answered.json).toMatchObject({ value: "v", metadata: { revision: 1, stale: true } });
    expect(answered.headers.get("x-feature-flags-stale")).toBe("1");
  });

  test("a node without a snapshot responds with an error, not with the caller's default", async () => {
    const { person, evaluate, db } = await memoryHost();
    // Better Auth compares the tables with its schema once, before the first response.
    await person("first");
    db.exec("drop table featureFlagRevision");
    const answered = await evaluate({ flagKey: "k", default: true });
    expect([answered.status, answered.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(answered.json).toEqual({
      code: "STORAGE_ERROR",
      message: "The flags are not loaded yet. Try again later.",
      details: { retryAfter: 1 },
    });
  });

  test("a caller whose session cannot be read gets an error and is not treated as an anonymous visitor", async () => {
    const { person, createFlag, evaluate, db } = await memoryHost();
    const admin = await person("admin", "admin");
    db.exec("drop table session");
    for (const answered of [
      await evaluate({ flagKey: "k", context: { userId: "other" } }, admin),
      await createFlag(flag(), admin),
    ]) {
      expect([answered.status, answered.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(answered.json).toEqual({
        code: "STORAGE_ERROR",
        message: "The session could not be read. Try again.",
        details: { retryAfter: 5 },
      });
    }
    expect((await evaluate({ flagKey: "k" })).status).toBe(200);
  });

  test("a member whose organizations cannot be read gets an error and is not treated as a non-member", async () => {
    const { person, organization, evaluate, call, db } = await memoryHost({ flags: { multiTenant: true } });
    const owner = await person("owner");
    await organization(owner, "own");
    db.exec("drop table member");
    for (const answered of [
      await evaluate({ flagKey: "k" }, owner),
      await call("GET", "/feature-flags/admin/flags", { as: owner }),
    ]) {
      expect([answered.status, answered.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(answered.json).toEqual({
        code: "STORAGE_ERROR",
        message: "The caller's organizations could not be read. Try again.",
        details: { retryAfter: 5 },
      });
    }
  });

  test("a stored flag that the plugin cannot have written is not served", async () => {
    const { auth, evaluate, db } = await memoryHost();
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "v" }) });
    await evaluate({ flagKey: "k" });
    db.exec(`update featureFlag set defaultValue = '5'; update featureFlagRevision set revision = 2`);
    passMs(1500);
    expect((await evaluate({ flagKey: "k" })).json).toMatchObject({ value: "v", metadata: { revision: 1 } });
  });
});
