/** Checks the status and the body of every error, and the health route. */
import { FEATURE_FLAG_ERROR_CODES } from "@halyard/flags";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import type { Answer, Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

function isError({ status, json }: Answer, expected: number, code: keyof typeof FEATURE_FLAG_ERROR_CODES) {
  expect([status, json.code]).toEqual([expected, code]);
  expect(json.message.length).toBeGreaterThan(10);
  for (const field of Object.keys(json)) expect(["code", "message", "details"]).toContain(field);
}

describe.each(WAYS)("guide/flags-http: Errors (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const body = () => ({ key: newKey(), name: "N", type: "string" });

  test("FLAG_NOT_FOUND is 404 and names the kind of entity", async () => {
    const missing = await way().updateFlag("nope", { name: "M" });
    isError(missing, 404, "FLAG_NOT_FOUND");
    expect(missing.json.details).toEqual({ entity: "flag" });
    isError(
      await way().createRule("nope", { priority: 1, conditions: { conditions: [] }, value: "r" }),
      404,
      "FLAG_NOT_FOUND",
    );
  });

  test("INVALID_FLAG_TYPE is 400 for an unknown type and for a value of another type", async () => {
    isError(await way().createFlag({ ...body(), type: "date" }), 400, "INVALID_FLAG_TYPE");
    isError(await way().createFlag({ ...body(), defaultValue: 5 }), 400, "INVALID_FLAG_TYPE");
  });

  test("VALIDATION_ERROR is 400 and names each field with the reason", async () => {
    const refused = await way().createFlag({ ...body(), name: "", colour: "red" });
    isError(refused, 400, "VALIDATION_ERROR");
    expect(refused.json.details.issues.map(({ path }: { path: string }) => path)).toEqual(["name", ""]);
    expect(refused.json.message).toContain('"colour"');
  });

  test("VALIDATION_ERROR is 409 for a duplicate key, a stale version and a second override", async () => {
    const { json: flag } = await way().createFlag(body());
    isError(await way().createFlag({ ...body(), key: flag.key }), 409, "VALIDATION_ERROR");
    isError(await way().updateFlag(flag.id, { name: "M" }, 7), 409, "VALIDATION_ERROR");
    isError(await way().deleteFlag(flag.id, 7), 409, "VALIDATION_ERROR");
    await way().createOverride({ flagId: flag.id, userId: "u", value: "o" });
    isError(
      await way().createOverride({ flagId: flag.id, userId: "u", value: "o" }),
      409,
      "VALIDATION_ERROR",
    );
  });

  test("a refused write adds no audit entry and no revision", async () => {
    const { json: flag } = await way().createFlag(body());
    const revision = async () =>
      (await way().evaluate({ flagKey: flag.key })).headers.get("x-feature-flags-revision");
    const before = await revision();
    await way().updateFlag(flag.id, { rolloutPercentage: 500 });
    await way().updateFlag(flag.id, { name: "M" }, 7);
    await way().createFlag({ ...body(), key: flag.key });
    expect(await revision()).toBe(before);
    expect((await way().listAudit({ flagId: flag.id })).json.entries).toHaveLength(1);
  });
});

describe("guide/flags-http: Errors", () => {
  test("PERMISSION_DENIED is 401 without a session and 403 without the permission", async () => {
    const path = "/feature-flags/admin/flags";
    isError(await host.call("GET", path), 401, "PERMISSION_DENIED");
    isError(await host.call("GET", path, { as: await host.person("user") }), 403, "PERMISSION_DENIED");
  });

  test("evaluating a flag that does not exist is 200 with the default", async () => {
    const answer = await host.evaluate({ flagKey: newKey("none"), default: "mine" });
    expect([answer.status, answer.json.value, answer.json.reason]).toEqual([200, "mine", "not_found"]);
  });

  test("STORAGE_ERROR is 500 and reveals no internals", async () => {
    const lines: string[] = [];
    const { person, createFlag, db } = await memoryHost({ log: (line) => lines.push(line) });
    const boss = await person("boss", "admin");
    db.exec("drop table featureFlag");
    const answer = await createFlag({ key: "k", name: "N", type: "boolean" }, boss);
    isError(answer, 500, "STORAGE_ERROR");
    expect(answer.json).toEqual({
      code: "STORAGE_ERROR",
      message: FEATURE_FLAG_ERROR_CODES.STORAGE_ERROR.message,
    });
    expect(lines.join()).toContain("[feature-flags]");
  });

  test("only 204 responses have an empty body", async () => {
    const { json: flag } = await host.createFlag({ key: newKey(), name: "N", type: "boolean" }, admin);
    for (const [method, path, body] of [
      ["GET", `/flags/${flag.id}`],
      ["PATCH", `/flags/${flag.id}`, { name: "M" }],
      ["GET", "/flags/nope"],
      ["DELETE", "/flags/nope"],
      ["POST", "/flags", {}],
    ] as const) {
      const answer = await host.call(method, `/feature-flags/admin${path}`, {
        as: admin,
        ...(body && { body }),
      });
      expect(answer.text, `${method} ${path}`).not.toBe("");
      expect(answer.headers.get("content-type")).toContain("application/json");
    }
  });
});

describe("guide/flags-http: Health", () => {
  const path = "/feature-flags/health";

  test("every caller gets status and version", async () => {
    const answer = await host.call("GET", path);
    expect([answer.status, answer.json]).toEqual([200, { status: "ok", version: manifest.version }]);
    expect((await host.call("GET", path, { as: await host.person("healthy") })).json).toEqual(answer.json);
    expect((await host.call("GET", path, { headers: { "x-api-key": "bad" } })).json).toEqual(answer.json);
  });

  test("callers who may read flags, and server calls, get details", async () => {
    await host.createFlag({ key: newKey(), name: "N", type: "boolean" }, admin);
    const { json } = await host.call("GET", path, { as: admin });
    expect(Object.keys(json).sort()).toEqual([
      "bus",
      "changes",
      "fastPath",
      "fastPathReason",
      "revision",
      "snapshotAgeMs",
      "stale",
      "status",
      "transactions",
      "version",
      "writeTimeouts",
      "writes",
    ]);
    expect(json).toMatchObject({
      status: "ok",
      stale: false,
      transactions: "ok",
      revision: expect.any(Number),
    });
    expect(await host.auth.api.getFeatureFlagsHealth()).toMatchObject({
      status: "ok",
      revision: json.revision,
    });
  });

  test("an organization's owner gets details of the organization's flags", async () => {
    const { auth, person, organization, call } = await memoryHost({ flags: { multiTenant: true } });
    const owner = await person("owner");
    const organizationId = await organization(owner, "home");
    await auth.api.createFeatureFlag({ body: { key: "k", name: "N", type: "boolean", organizationId } });
    expect((await call("GET", path, { as: owner })).json.revision).toBe(1);
    expect((await auth.api.getFeatureFlagsHealth()).revision).toBe(0);
  });

  test("the status is degraded, with 200, while flags cannot be read", async () => {
    const { person, call, db } = await memoryHost();
    await person("first");
    db.exec("drop table featureFlagRevision");
    const answer = await call("GET", path);
    expect([answer.status, answer.json.status]).toEqual([200, "degraded"]);
  });
});
