/** Checks the admin routes over HTTP: statuses, headers, filters and refused requests. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { adminHelpers, isMissing } from "./admin-helpers.ts";
import { everyone } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const { send, make } = adminHelpers(() => ({ host, admin }));

describe("guide/flags-http-admin: Flags", () => {
  test("GET /flags filters by q, type, enabled and prefix, sorts, and returns pages", async () => {
    const prefix = newKey("list");
    await make({ key: `${prefix}-a`, name: "Zebra", type: "string", defaultValue: "x" });
    await make({
      key: `${prefix}-b`,
      name: "Apple",
      type: "number",
      enabled: false,
      defaultValue: 4,
      rolloutPercentage: 50,
    });
    const mango = { name: "Mango", description: "Yellow FRUIT", enabled: false, rolloutPercentage: 5 };
    await make({ key: `${prefix}-c`, ...mango, defaultValue: "a", organizationId: "label" });
    const ends = async (query: string) => {
      const { status, json } = await send("GET", `/flags?prefix=${prefix}&${query}`);
      expect(status).toBe(200);
      return json.flags.map((flag: { key: string }) => flag.key.at(-1)).join("");
    };
    expect(await ends("")).toBe("abc");
    expect(await ends("sort=name")).toBe("bca");
    expect(await ends("sort=-name")).toBe("acb");
    expect(await ends("sort=-key")).toBe("cba");
    expect(await ends("sort=-createdAt")).toBe("cba");
    expect(await ends("sort=updatedAt")).toBe("abc");
    expect(await ends("sort=type")).toMatch(/^b/);
    expect(await ends("sort=enabled")).toMatch(/a$/);
    for (const sort of ["id", "createdAt"]) expect(await ends(`sort=-${sort}`)).toBe("cba");
    // Flags without the field are last in both directions.
    expect([await ends("sort=description"), await ends("sort=-description")]).toEqual(["cab", "cba"]);
    expect([await ends("sort=defaultValue"), await ends("sort=-defaultValue")]).toEqual(["cab", "bac"]);
    expect([await ends("sort=rolloutPercentage"), await ends("sort=-rolloutPercentage")]).toEqual([
      "cba",
      "bca",
    ]);
    expect((await ends("sort=organizationId")).slice(0, 1)).toBe("c");
    expect(await ends("type=string")).toBe("ac");
    expect(await ends("enabled=false")).toBe("bc");
    expect(await ends("enabled=true&type=string")).toBe("a");
    expect(await ends("q=fruit")).toBe("c");
    expect(await ends("q=APPLE")).toBe("b");
    const first = await send("GET", `/flags?prefix=${prefix}&sort=key&limit=2`);
    expect(first.json.page).toEqual({ nextCursor: expect.any(String), limit: 2, hasMore: true });
    expect(await ends(`sort=key&cursor=${encodeURIComponent(first.json.page.nextCursor)}`)).toBe("c");
  });

  test.each([
    "type=date",
    "enabled=yes",
    "sort=secret",
    "limit=abc",
    "cursor=x",
    "include=stars",
    "q=a&q=b",
    "q=%00",
  ])("GET /flags?%s is 400", async (query) => {
    const answer = await send("GET", `/flags?${query}`);
    expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test.each(["variants", "metadata"])("GET /flags?sort=%s is 400 and names the field", async (field) => {
    const { status, json } = await send("GET", `/flags?sort=-${field}`);
    expect([status, json.message]).toEqual([400, expect.stringMatching(`not ${field}$`)]);
  });

  test("GET /flags ignores query parameters named like prototype members", async () => {
    expect((await send("GET", "/flags?__proto__=1&toString=2&constructor=3")).status).toBe(200);
  });

  test("POST /flags responds 201 with the flag, and with its version as ETag", async () => {
    const body = {
      key: newKey(),
      name: "N",
      type: "number",
      enabled: true,
      defaultValue: 1,
      rolloutPercentage: 5,
    };
    const answer = await send("POST", "/flags", body);
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ ...body, version: 1 });
    expect(answer.headers.get("etag")).toBe('"1"');
  });

  test("GET /flags/:id returns the flag with its ETag, and an unknown or malformed id is 404", async () => {
    const flag = await make({ offValue: "off" });
    const answer = await send("GET", `/flags/${flag.id}`);
    expect([answer.status, answer.json, answer.headers.get("etag")]).toEqual([200, flag, '"1"']);
    for (const id of ["nope", "1", "%27", "%00", "%ff", "a%2Fb", "x".repeat(500)]) {
      isMissing(await send("GET", `/flags/${id}`), "flag");
    }
  });

  test("PATCH /flags/:id changes the fields it is sent, and null clears an optional field", async () => {
    const flag = await make({
      description: "D",
      defaultValue: "x",
      rolloutPercentage: 10,
      metadata: { m: 1 },
      salt: "s",
      bucketBy: "organizationId",
      environments: { beta: {} },
      variants: [{ key: "v", weight: 100, value: "V" }],
    });
    const renamed = await send("PATCH", `/flags/${flag.id}`, { name: "M" });
    expect(renamed.status).toBe(200);
    expect(renamed.json).toEqual({ ...flag, name: "M", version: 2, updatedAt: expect.any(String) });
    expect(renamed.headers.get("etag")).toBe('"2"');
    const cleared = {
      description: null,
      rolloutPercentage: null,
      variants: null,
      metadata: null,
      salt: null,
      bucketBy: null,
      environments: null,
    };
    const emptied = (await send("PATCH", `/flags/${flag.id}`, cleared)).json;
    for (const field of Object.keys(cleared)) expect(emptied).not.toHaveProperty(field);
    expect(emptied.defaultValue).toBe("x");
    const falsy = { defaultValue: "", enabled: false, description: "", rolloutPercentage: 0 };
    expect((await send("PATCH", `/flags/${flag.id}`, falsy)).json).toMatchObject(falsy);
  });

  test.each([
    { name: null },
    { key: null },
    { enabled: null },
    { visibility: null },
    { id: "x" },
    { version: 1 },
    { organizationId: "x" },
    { createdAt: "2026-01-01" },
    { rolloutPercentage: 101 },
    [],
    undefined,
  ])("PATCH /flags/:id with %j is 400", async (body) => {
    const flag = await make();
    const answer = await send("PATCH", `/flags/${flag.id}`, body);
    expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test("a body may repeat the ids of its path, and is 400 if they differ", async () => {
    const [flag, other] = [await make(), await make()];
    const path = `/flags/${flag.id}`;
    const rule = { priority: 1, conditions: everyone, value: "r" };
    expect((await send("PATCH", path, { id: flag.id, name: "M" })).json.name).toBe("M");
    const created = await send("POST", `${path}/rules`, { flagId: flag.id, ...rule });
    expect(created.status).toBe(201);
    const ids = { flagId: flag.id, ruleId: created.json.id };
    const { json: changed } = await send("PATCH", `${path}/rules/${ids.ruleId}`, { ...ids, priority: 2 });
    expect(changed.priority).toBe(2);
    const { json: segment } = await send("POST", "/segments", { key: newKey(), conditions: everyone });
    expect((await send("PATCH", `/segments/${segment.id}`, { id: segment.id, name: "S" })).status).toBe(200);
    for (const [method, at, body] of [
      ["PATCH", path, { id: other.id, name: "O" }],
      ["PATCH", path, { id: 5, name: "O" }],
      ["POST", `${path}/rules`, { flagId: other.id, ...rule }],
      ["PATCH", `${path}/rules/${ids.ruleId}`, { ruleId: other.id, priority: 3 }],
      ["PATCH", `/segments/${segment.id}`, { id: other.id, name: "O" }],
    ] as const) {
      const { status, json } = await send(method, at, body);
      expect([status, json.message]).toEqual([
        400,
        expect.stringMatching(
          /(id|flagId|ruleId): differs from the id in the path; leave it out of the body$/,
        ),
      ]);
    }
    const both = { params: { id: flag.id }, body: { id: other.id, name: "O" } };
    await expect(host.auth.api.updateFeatureFlag(both)).rejects.toMatchObject({ statusCode: 400 });
    expect((await send("GET", path)).json.name).toBe("M");
  });

  test("__proto__ in a body is an unknown field and is refused", async () => {
    const flag = await make();
    for (const [method, path, fields] of [
      ["POST", "/flags", `"key":"${newKey()}","name":"N","type":"boolean"`],
      ["PATCH", `/flags/${flag.id}`, '"name":"M"'],
      ["POST", `/flags/${flag.id}/rules`, '"priority":1,"conditions":{"conditions":[]},"value":"r"'],
      ["POST", "/overrides", `"flagId":"${flag.id}","userId":"u","value":"o"`],
    ] as const) {
      const answer = await send(method, path, `{${fields},"__proto__":{"enabled":true}}`);
      expect([answer.status, answer.json.code], path).toEqual([400, "VALIDATION_ERROR"]);
      expect((await send(method, path, `{${fields}}`)).status, path).toBeLessThan(300);
    }
  });

  test("an environment may be named __proto__", async () => {
    const body = `{"key":"${newKey()}","name":"N","type":"string","enabled":true,"defaultValue":"v","environments":{"__proto__":{"defaultValue":"p"}}}`;
    const { status, json } = await send("POST", "/flags", body);
    expect([status, Object.keys(json.environments)]).toEqual([201, ["__proto__"]]);
    const seen = async (environment: string) =>
      (await host.evaluate({ flagKey: json.key, environment })).json.value;
    expect([await seen("__proto__"), await seen("toString"), await seen("constructor")]).toEqual([
      "p",
      "v",
      "v",
    ]);
  });

  test("PATCH /flags/:id refuses a type that a stored value does not fit, and the removal of a variant that a rule uses", async () => {
    const flag = await make({ defaultValue: "x" });
    const misfit = await send("PATCH", `/flags/${flag.id}`, { type: "number" });
    expect([misfit.status, misfit.json.code]).toEqual([400, "INVALID_FLAG_TYPE"]);
    expect((await send("PATCH", `/flags/${flag.id}`, { type: "date" })).json.code).toBe("INVALID_FLAG_TYPE");
    expect((await send("PATCH", `/flags/${flag.id}`, { type: "number", defaultValue: 3 })).status).toBe(200);
    await send("POST", `/flags/${flag.id}/rules`, { priority: 1, conditions: everyone, value: 4 });
    expect((await send("PATCH", `/flags/${flag.id}`, { type: "string", defaultValue: "y" })).status).toBe(
      400,
    );
    const varied = await make({ variants: [{ key: "v", weight: 100, value: "V" }] });
    await send("POST", `/flags/${varied.id}/rules`, { priority: 1, conditions: everyone, variant: "v" });
    expect((await send("PATCH", `/flags/${varied.id}`, { variants: null })).status).toBe(409);
  });

  test("DELETE /flags/:id responds 204 without a body, and 404 the second time", async () => {
    const flag = await make();
    const answer = await send("DELETE", `/flags/${flag.id}`);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    isMissing(await send("DELETE", `/flags/${flag.id}`), "flag");
    isMissing(await send("PATCH", `/flags/${flag.id}`, { name: "M" }), "flag");
  });
});

describe("guide/flags-http-admin: Versions and concurrent changes", () => {
  test.each(['"1"', "1", "*"])("If-Match %s permits a change of version 1", async (tag) => {
    const flag = await make();
    expect((await send("PATCH", `/flags/${flag.id}`, { name: "M" }, { "if-match": tag })).status).toBe(200);
  });

  test("a stale If-Match is 409 on PATCH and DELETE of flags, rules and segments, and a malformed one is 400", async () => {
    const flag = await make();
    const { json: rule } = await send("POST", `/flags/${flag.id}/rules`, {
      priority: 1,
      conditions: everyone,
      value: "r",
    });
    const { json: segment } = await send("POST", "/segments", { key: newKey(), conditions: everyone });
    for (const [path, body] of [
      [`/flags/${flag.id}/rules/${rule.id}`, { priority: 2 }],
      [`/segments/${segment.id}`, { name: "S" }],
      [`/flags/${flag.id}`, { name: "M" }],
    ] as const) {
      const changed = await send("PATCH", path, body, { "if-match": '"1"' });
      expect([changed.status, changed.headers.get("etag")]).toEqual([200, '"2"']);
      for (const stale of [
        await send("PATCH", path, body, { "if-match": '"1"' }),
        await send("DELETE", path, undefined, { "if-match": "1" }),
      ]) {
        expect([stale.status, stale.json.code]).toEqual([409, "VALIDATION_ERROR"]);
      }
      for (const tag of ["abc", 'W/"2"', '"1", "2"', "-1", ""]) {
        const malformed = await send("PATCH", path, body, { "if-match": tag });
        expect(malformed.status, tag).toBe(400);
      }
      expect((await send("DELETE", path, undefined, { "if-match": '"2"' })).status).toBe(204);
    }
  });
});

describe("guide/flags-http-admin: Rules", () => {
  test("POST /flags/:flagId/rules responds 201 with the rule, and GET lists the rules", async () => {
    const flag = await make();
    const created = await send("POST", `/flags/${flag.id}/rules`, {
      priority: 1,
      conditions: everyone,
      value: "r",
    });
    expect([created.status, created.headers.get("etag")]).toEqual([201, '"1"']);
    const listed = await send("GET", `/flags/${flag.id}/rules`);
    expect([listed.status, listed.json]).toEqual([200, { rules: [created.json] }]);
    isMissing(await send("GET", "/flags/nope/rules"), "flag");
    isMissing(
      await send("POST", "/flags/nope/rules", { priority: 1, conditions: everyone, value: "r" }),
      "flag",
    );
  });

  test("PATCH and DELETE /flags/:flagId/rules/:ruleId respond 200 and 204, and 404 for a rule of another flag", async () => {
    const [flag, other] = [await make(), await make()];
    const fields = { priority: 1, name: "R", conditions: everyone, value: "r", percentage: 50 };
    const { json: rule } = await send("POST", `/flags/${flag.id}/rules`, fields);
    const path = `/flags/${flag.id}/rules/${rule.id}`;
    const changed = await send("PATCH", path, { value: "s", name: null, percentage: null });
    expect(changed.status).toBe(200);
    const { name: _name, percentage: _percentage, ...rest } = rule;
    expect(changed.json).toEqual({ ...rest, value: "s", version: 2 });
    expect((await send("PATCH", path, { flagId: other.id })).status).toBe(400);
    expect((await send("PATCH", path, { value: 5 })).json.code).toBe("INVALID_FLAG_TYPE");
    expect((await send("PATCH", path, { variant: "none" })).status).toBe(400);
    expect((await send("PATCH", path, { conditions: null })).status).toBe(400);
    for (const elsewhere of [
      `/flags/${other.id}/rules/${rule.id}`,
      `/flags/${flag.id}/rules/nope`,
      `/flags/${flag.id}/rules/%00`,
    ]) {
      isMissing(await send("PATCH", elsewhere, { priority: 2 }), "rule");
      isMissing(await send("DELETE", elsewhere), "rule");
    }
    const deleted = await send("DELETE", path);
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    isMissing(await send("DELETE", path), "rule");
  });
});

describe("guide/flags-http-admin: Overrides", () => {
  test("GET /overrides filters by flagId, userId and q, sorts, and returns pages", async () => {
    const flag = await make();
    for (const [userId, reason] of [
      ["ann", "beta"],
      ["bob", "Support case"],
      ["cid", undefined],
    ] as const) {
      await send("POST", "/overrides", { flagId: flag.id, userId, value: "o", reason });
    }
    const users = async (query: string) => {
      const { json } = await send("GET", `/overrides?flagId=${flag.id}&${query}`);
      return json.overrides.map((override: { userId: string }) => override.userId).join();
    };
    expect(await users("")).toBe("ann,bob,cid");
    expect(await users("sort=-userId")).toBe("cid,bob,ann");
    expect(await users("sort=expiresAt")).toBe("ann,bob,cid");
    expect(await users("userId=bob")).toBe("bob");
    expect(await users("q=SUPPORT")).toBe("bob");
    expect(await users("q=nn")).toBe("ann");
    const { json } = await send("GET", `/overrides?flagId=${flag.id}&sort=userId&limit=2`);
    expect(json.page).toEqual({ nextCursor: expect.any(String), limit: 2, hasMore: true });
    expect(await users(`sort=userId&cursor=${encodeURIComponent(json.page.nextCursor)}`)).toBe("cid");
    expect((await send("GET", "/overrides?sort=value")).status).toBe(400);
    expect((await send("GET", "/overrides?organizationId=o")).status).toBe(400);
  });

  test("POST /overrides responds 201 with the override; DELETE responds 204, and 404 the second time", async () => {
    const flag = await make();
    const created = await send("POST", "/overrides", { flagId: flag.id, userId: "u", value: "o" });
    expect(created.status).toBe(201);
    const deleted = await send("DELETE", `/overrides/${created.json.id}`);
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    isMissing(await send("DELETE", `/overrides/${created.json.id}`), "override");
  });
});

describe("guide/flags-audit: Query", () => {
  test("GET /audit filters by flag, actor, action and time, newest entry first", async () => {
    const flag = await make();
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, name: "x" } });
    await send("PATCH", `/flags/${flag.id}`, { name: "y" });
    const list = async (query: string) =>
      (await send("GET", `/audit?flagId=${flag.id}&${query}`)).json.entries;
    const all = await list("");
    expect(all.map((entry: { action: string }) => entry.action)).toEqual([
      "flag.updated",
      "flag.updated",
      "flag.created",
    ]);
    expect(await list("action=create")).toEqual([all[2]]);
    expect(await list("action=update")).toEqual([all[0], all[1]]);
    expect([await list("action=delete"), await list("action=evaluate")]).toEqual([[], []]);
    expect(await list(`userId=${admin.id}`)).toEqual([all[0], all[2]]);
    expect(await list("userId=system")).toEqual([all[1]]);
    expect([await list("limit=2"), await list("limit=2&offset=2")]).toEqual([[all[0], all[1]], [all[2]]]);
    expect(await list(`end=${all[2].at}`)).toEqual([]);
    expect((await list(`start=${all[2].at}`)).length).toBe(3);
    for (const query of ["action=explode", "start=yesterday", "end=5", "offset=-1", "offset=x", "limit=x"]) {
      expect((await send("GET", `/audit?${query}`)).json.code, query).toBe("VALIDATION_ERROR");
    }
  });
});

describe("guide/flags-explain: How it works", () => {
  test("POST /flags/:id/explain returns each step that led to the result", async () => {
    const flag = await make({
      defaultValue: "v",
      visibility: "server",
      environments: { beta: { defaultValue: "B" } },
    });
    await send("POST", `/flags/${flag.id}/rules`, { priority: 1, conditions: everyone, value: "r" });
    await send("POST", "/overrides", { flagId: flag.id, userId: "u", value: "o" });
    const answer = await send("POST", `/flags/${flag.id}/explain`, { context: { userId: "other" } });
    expect(answer.status).toBe(200);
    expect(answer.json.result).toMatchObject({ value: "r", reason: "rule_match" });
    expect(answer.json.steps.map(({ step }: { step: string }) => step)).toEqual([
      "enabled",
      "override",
      "rule",
    ]);
    for (const step of answer.json.steps) expect(Object.keys(step)).toEqual(["step", "outcome", "detail"]);
    const overridden = await send("POST", `/flags/${flag.id}/explain`, { context: { userId: "u" } });
    expect(overridden.json.result.reason).toBe("override");
    expect((await send("POST", `/flags/${flag.id}/explain`)).status).toBe(200);
    expect((await send("POST", `/flags/${flag.id}/explain`, { colour: "red" })).status).toBe(400);
    isMissing(await send("POST", "/flags/nope/explain", {}), "flag");
    const method = await host.auth.api.explainFeatureFlag({
      params: { id: flag.id },
      body: { context: { userId: "other" } },
    });
    expect(method).toEqual(answer.json);
  });
});
