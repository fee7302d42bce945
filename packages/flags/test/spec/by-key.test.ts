/** Checks that flags and segments can be named by their keys wherever an id is taken. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { isMissing } from "./admin-helpers.ts";
import { everyone, WAYS, when } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

/** Both forms of a key, over HTTP and by `auth.api`. */
const NAMES = WAYS.flatMap(([way, by]) =>
  ["", "key:"].map((prefix) => [`${way}, ${prefix}<key>`, by, prefix] as const),
);

describe.each(NAMES)("guide/flags-http-admin: Identify by key (%s)", (_name, by, prefix) => {
  const way = () => by({ host, admin });
  const make = async () => {
    const body = { key: newKey(), name: "N", type: "string", enabled: true, defaultValue: "d", offValue: "" };
    const { json: flag } = await way().createFlag(body);
    return { flag, id: `${prefix}${flag.key}` };
  };

  test("every operation on a flag accepts the key in place of the id", async () => {
    const { flag, id } = await make();
    expect((await way().getFlag(id)).json).toEqual(flag);
    expect((await way().updateFlag(id, { name: "M" }, 1)).json).toMatchObject({ id: flag.id, name: "M" });
    expect((await way().updateFlag(id, { name: "L" }, 1)).status).toBe(409);
    expect((await way().stats(id)).json.flagId).toBe(flag.id);
    expect((await way().explain(id, {})).json.result.value).toBe("d");
    expect((await way().deleteFlag(id)).status).toBe(204);
    isMissing(await way().getFlag(id), "flag");
  });

  test("every operation on a rule accepts the key as the flag's id", async () => {
    const { flag, id } = await make();
    const rule = await way().createRule(id, { priority: 1, conditions: everyone, value: "r" });
    expect([rule.status, rule.json.flagId]).toEqual([201, flag.id]);
    expect((await way().listRules(id)).json.rules).toEqual([rule.json]);
    expect((await way().updateRule(id, rule.json.id, { percentage: 12.5 }, 1)).json.percentage).toBe(12.5);
    expect((await way().updateRule(id, rule.json.id, { percentage: 5 }, 1)).status).toBe(409);
    expect((await way().deleteRule(id, rule.json.id, 2)).status).toBe(204);
    expect((await way().listRules(id)).json.rules).toEqual([]);
  });

  test("overrides and audit entries are created and listed by the flag's key", async () => {
    const { flag, id } = await make();
    const override = await way().createOverride({ flagId: id, userId: "u", value: "o" });
    expect([override.status, override.json.flagId]).toEqual([201, flag.id]);
    expect((await way().listOverrides({ flagId: id })).json.overrides).toEqual([override.json]);
    expect((await way().listAudit({ flagId: id })).json.entries).toHaveLength(2);
    expect((await way().deleteOverride(override.json.id)).status).toBe(204);
    expect((await way().listOverrides({ flagId: id })).json.overrides).toEqual([]);
    isMissing(await way().listOverrides({ flagId: `${prefix}${newKey()}` }), "flag");
  });

  test("every operation on a segment accepts the key in place of the id", async () => {
    const { json: segment } = await way().createSegment({ key: newKey(), conditions: everyone });
    const id = `${prefix}${segment.key}`;
    expect((await way().getSegment(id)).json).toEqual(segment);
    const conditions = when("plan", "equals", "pro");
    expect((await way().updateSegment(id, { conditions }, 1)).json.conditions.conditions).toHaveLength(1);
    expect((await way().deleteSegment(id, 2)).status).toBe(204);
    isMissing(await way().getSegment(id), "segment");
  });

  test("a key that does not exist, is not a key, or names another kind of entity is 404 and named", async () => {
    const missing = await way().getFlag(`${prefix}nothing-here`);
    isMissing(missing, "flag");
    expect(missing.json.message).toBe('There is no flag with the key "nothing-here". Check the key.');
    for (const id of ["key:", "key:a b", `key:${"a".repeat(129)}`, "KEY:a"])
      isMissing(await way().getFlag(id), "flag");
    const { flag } = await make();
    isMissing(await way().getSegment(`${prefix}${flag.key}`), "segment");
    isMissing(await way().deleteOverride(`${prefix}${flag.key}`), "override");
  });
});

describe("guide/flags-http-admin: Identify by key (without organizations)", () => {
  test("an organization in the query is 400, because it would not choose the flag", async () => {
    const { id, key, version } = await host.auth.api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "string", organizationId: "acme" },
    });
    for (const name of [id, `key:${key}`]) {
      for (const organizationId of ["acme", "other"]) {
        const path = `/feature-flags/admin/flags/${name}?organizationId=${organizationId}`;
        const { status, json } = await host.call("PATCH", path, { as: admin, body: { name: "M" } });
        expect([status, json.code]).toEqual([400, "VALIDATION_ERROR"]);
        expect(json.message).toContain("needs the option multiTenant; leave it out");
      }
    }
    const params = { id: `key:${key}` };
    expect(await host.auth.api.getFeatureFlag({ params, query: { organizationId: "" } })).toMatchObject({
      name: "N",
      version,
    });
  });
});

describe("guide/flags-http-admin: Identify by key (organizations)", () => {
  let tenants: Host;
  let owners: Person[];
  let organizations: string[];
  let app: Person;
  suiteHost({ flags: { multiTenant: true } }, async (started) => {
    tenants = started;
    owners = [await started.person("owner-a"), await started.person("owner-b")];
    app = await started.person("app-admin", "admin");
    organizations = await Promise.all(owners.map((owner, at) => started.organization(owner, `org-${at}`)));
  });
  const create = (key: string, organizationId: string) =>
    tenants.auth.api.createFeatureFlag({
      body: { key, name: "N", type: "string", defaultValue: `of ${organizationId}`, organizationId },
    });
  const get = (key: string, as: Person | undefined, query = "") =>
    tenants.call("GET", `/feature-flags/admin/flags/key:${key}${query}`, { as });

  test("a key names the flag of the caller's active organization, never that of another one", async () => {
    const key = newKey();
    const [a = "", b = ""] = organizations;
    const flags = [await create(key, a), await create(key, b)];
    for (const [at, owner] of owners.entries()) expect((await get(key, owner)).json.id).toBe(flags[at]?.id);
    const removed = await tenants.call("DELETE", `/feature-flags/admin/flags/key:${key}`, { as: owners[1] });
    expect(removed.status).toBe(204);
    isMissing(await get(key, owners[1]), "flag");
    expect((await get(key, owners[0])).json.id).toBe(flags[0]?.id);
    isMissing(await get(key, owners[1], `?organizationId=${a}`), "flag");
    expect((await get(key, undefined)).status).toBe(401);
  });

  test("organizationId names the organization, and without an active one a key names a global flag", async () => {
    const key = newKey();
    const [a = ""] = organizations;
    const own = await create(key, a);
    const shared = await create(newKey("global"), "");
    expect((await get(key, app, `?organizationId=${a}`)).json.id).toBe(own.id);
    isMissing(await get(key, app), "flag");
    expect((await get(shared.key, app)).json.id).toBe(shared.id);
    expect((await get(shared.key, app, "?organizationId=")).json.id).toBe(shared.id);
    // The active organization does not have the global flag.
    const { status, json } = await get(shared.key, owners[0]);
    expect([status, json.message]).toEqual([
      404,
      `No flag with the key "${shared.key}" was found. Check the key, and set organizationId in the query to the organization of the flag, or to "" for a global flag.`,
    ]);
    // An id of another organization than the named one.
    const wrong = `/feature-flags/admin/flags/${own.id}?organizationId=elsewhere`;
    isMissing(await tenants.call("GET", wrong, { as: app }), "flag");

    const { api } = tenants.auth;
    const params = { id: `key:${key}` };
    expect((await api.getFeatureFlag({ params, query: { organizationId: a } })).id).toBe(own.id);
    await expect(api.getFeatureFlag({ params })).rejects.toMatchObject({ statusCode: 404 });
    const body = { name: "by key" };
    const changed = await api.updateFeatureFlag({ params, query: { organizationId: a }, body });
    expect([changed.id, changed.name]).toEqual([own.id, "by key"]);
  });
});
