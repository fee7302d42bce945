/** Checks changes of single environments, rules for environments, and the option `environments.list`. */
import { describe, expect, onTestFinished, test } from "vitest";
import { type Host, type Person, startHost } from "../host.ts";
import { flag, memoryDatabase, memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { flagHelpers } from "./flag-helpers.ts";
import { everyone, WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const messages = ({ json }: { json: { details: { issues: object[] } } }) => json.details.issues;

describe.each(WAYS)("guide/flags-environments: Change one environment (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make } = flagHelpers(way);
  const environments = { staging: { enabled: true, rolloutPercentage: 10 }, production: { enabled: false } };
  const change = async (id: string, patch: object | null) =>
    (await way().updateFlag(id, { environments: patch })).json;

  test("a change of one environment keeps the other environments, and the other fields of this one", async () => {
    const { id } = await make({ environments });
    expect((await change(id, { staging: { rolloutPercentage: 50 } })).environments).toEqual({
      staging: { enabled: true, rolloutPercentage: 50 },
      production: { enabled: false },
    });
    expect((await change(id, { canary: { defaultValue: "c" } })).environments).toMatchObject({
      canary: { defaultValue: "c" },
      production: { enabled: false },
    });
  });

  test("null removes a field or an environment, and null for all removes the field environments", async () => {
    const { id } = await make({ environments });
    expect((await change(id, { staging: { enabled: null }, production: null })).environments).toEqual({
      staging: { rolloutPercentage: 10 },
    });
    expect((await change(id, { staging: { rolloutPercentage: null } })).environments).toEqual({
      staging: {},
    });
    expect(await change(id, { staging: null })).not.toHaveProperty("environments");
    await change(id, environments);
    expect(await change(id, null)).not.toHaveProperty("environments");
  });

  test("a change that changes nothing is no new version, and names that are not there may be removed", async () => {
    const { id, version } = await make({ environments });
    const same = { staging: { enabled: true }, unknown: null };
    expect(await change(id, same)).toMatchObject({ version, environments });
    expect(await change(id, {})).toMatchObject({ version, environments });
  });

  test("on a JSON flag, null removes the environment's value, so the flag's own applies", async () => {
    const { id, key } = await make({
      type: "json",
      defaultValue: 1,
      environments: { beta: { defaultValue: 2 } },
    });
    expect((await change(id, { beta: { defaultValue: null } })).environments).toEqual({ beta: {} });
    expect((await way().evaluate({ flagKey: key, environment: "beta" })).json.value).toBe(1);
  });

  test("a malformed change is refused with the environment and the field", async () => {
    const { id } = await make({ environments });
    for (const [patch, path] of [
      [{ staging: { enabled: "on" } }, "environments.staging.enabled"],
      [{ staging: { rollout: 5 } }, "environments.staging"],
      [{ staging: true }, "environments.staging"],
      [{ staging: { rolloutPercentage: 101 } }, "environments.staging.rolloutPercentage"],
      [[], "environments"],
    ] as const) {
      const answer = await way().updateFlag(id, { environments: patch });
      expect([answer.status, messages(answer)]).toEqual([400, [expect.objectContaining({ path })]]);
    }
    const creating = await way().createFlag(flag({ key: newKey(), environments: { staging: null } }));
    expect(creating.status).toBe(400);
  });

  test("__proto__ is a name like any other", async () => {
    const { id } = await make();
    const settings = JSON.parse('{"__proto__":{"enabled":false}}');
    expect(Object.keys((await change(id, settings)).environments)).toEqual(["__proto__"]);
    expect(await change(id, JSON.parse('{"__proto__":null}'))).not.toHaveProperty("environments");
  });
});

describe.each(WAYS)("guide/flags-environments: Rules for environments (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make } = flagHelpers(way);
  const valueIn = async (flagKey: string, environment?: string) =>
    (await way().evaluate({ flagKey, ...(environment && { environment }) })).json.value;

  test("a rule counts in its environments only, and not in an evaluation without one", async () => {
    const { id, key } = await make({ defaultValue: "d" });
    const rule = { priority: 1, conditions: everyone, value: "r", environments: ["staging", "canary"] };
    const { json } = await way().createRule(id, rule);
    expect(json).toMatchObject(rule);
    const values = () =>
      Promise.all(["staging", "canary", "production", undefined].map((one) => valueIn(key, one)));
    expect(await values()).toEqual(["r", "r", "d", "d"]);
    await way().updateRule(id, json.id, { environments: ["production"] });
    expect(await values()).toEqual(["d", "d", "r", "d"]);
    expect((await way().updateRule(id, json.id, { environments: null })).json).not.toHaveProperty(
      "environments",
    );
    expect(await values()).toEqual(["r", "r", "r", "r"]);
  });

  test("Explain shows a rule of other environments as skipped, and why", async () => {
    const { id } = await make();
    const environments = ["staging", "canary"];
    const { json } = await way().createRule(id, {
      priority: 1,
      conditions: everyone,
      value: "r",
      environments,
    });
    const skipped = async (environment?: string) =>
      (await way().explain(id, environment === undefined ? {} : { environment })).json.steps.find(
        ({ step }: { step: string }) => step === "rule",
      );
    const detail = { rule: json.id, environments };
    expect(await skipped("production")).toEqual({
      step: "rule",
      outcome: "skipped",
      detail: { ...detail, why: "the rule counts only in staging, canary, and this is production" },
    });
    expect((await skipped()).detail.why).toContain("no environment was named");
    expect(await skipped("canary")).toMatchObject({ outcome: "matched" });
  });

  test("the list has 1 to 20 names, each once; an empty one is refused with the remedy", async () => {
    const { id } = await make();
    const names = (count: number) => Array.from({ length: count }, (_, at) => `e${at}`);
    const create = (environments: unknown) =>
      way().createRule(id, { priority: 1, conditions: everyone, value: "r", environments });
    expect((await create(names(20))).status).toBe(201);
    const empty = await create([]);
    expect([empty.status, messages(empty)]).toEqual([
      400,
      [
        {
          path: "environments",
          message: "must have at least one name; use null or leave the field out for all",
        },
      ],
    ]);
    for (const wrong of [names(21), ["a", "a"], ["", "a"], "staging", [1], ["x".repeat(256)]]) {
      expect((await create(wrong)).status, JSON.stringify(wrong)).toBe(400);
    }
  });
});

describe("guide/flags-environments: Rules for environments", () => {
  test("a rule follows the environment that decides, not one that the caller may not name", async () => {
    const limited = await memoryHost({ flags: { environments: { default: "live", claimable: ["live"] } } });
    const { api } = limited.auth;
    const { id } = await api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "d" }) });
    const rule = { flagId: id, priority: 1, conditions: { conditions: [] } };
    await api.createFeatureFlagRule({ body: { ...rule, value: "staging", environments: ["staging"] } });
    await api.createFeatureFlagRule({ body: { ...rule, value: "live", environments: ["live"] } });
    const { json } = await limited.evaluate({ flagKey: "k", environment: "staging" });
    expect([json.value, json.metadata.environmentIgnored]).toEqual(["live", true]);
    const ring = await limited.request(
      "/feature-flags/evaluate",
      { flagKey: "k" },
      { "x-deployment-ring": "staging" },
    );
    expect(ring.json.value).toBe("live");
  });
});

describe("guide/flags-environments: A list of environments", () => {
  const options = { environments: { default: "production", list: ["production", "staging"] } };
  const near = 'environments.list has no such name; did you mean "staging"? (it has production, staging)';
  const issuesOf = (call: Promise<unknown>) =>
    call.then(
      () => "accepted",
      ({ body }: { body: { details: { issues: object[] } } }) => body.details.issues,
    );

  test("a write that adds another name is refused with the nearest one and the list", async () => {
    const { auth } = await memoryHost({ flags: options });
    const { api } = auth;
    const environments = { stagin: { enabled: true } };
    expect(await issuesOf(api.createFeatureFlag({ body: flag({ environments }) }))).toEqual([
      { path: "environments.stagin", message: near },
    ]);
    const { id, key } = await api.createFeatureFlag({ body: flag({ environments: { staging: {} } }) });
    const path = "environments.stagin";
    expect(await issuesOf(api.updateFeatureFlag({ body: { id, environments } }))).toEqual([
      { path, message: near },
    ]);
    const changes = [{ flagKey: key, fields: { environments } }];
    expect(await issuesOf(api.planFeatureFlags({ body: { changes } }))).toEqual([{ path, message: near }]);
    const rule = { flagId: id, priority: 1, conditions: { conditions: [] }, value: "r" };
    const names = ["production", "stagin"];
    const issues = [{ path: "environments.1", message: near }];
    expect(await issuesOf(api.createFeatureFlagRule({ body: { ...rule, environments: names } }))).toEqual(
      issues,
    );
    const { id: ruleId } = await api.createFeatureFlagRule({ body: { ...rule, environments: ["staging"] } });
    const change = { flagId: id, ruleId, environments: names };
    expect(await issuesOf(api.updateFeatureFlagRule({ body: change }))).toEqual(issues);
    const far = await issuesOf(api.updateFeatureFlag({ body: { id, environments: { qa: {} } } }));
    expect(far).toMatchObject([
      { message: "environments.list has no such name (it has production, staging)" },
    ]);
  });

  test("a stored name that left the list keeps working, and may be changed and removed, but not brought back", async () => {
    const database = memoryDatabase();
    const before = await startHost({ database });
    onTestFinished(before.close);
    const { id } = await before.auth.api.createFeatureFlag({
      body: flag({ enabled: true, defaultValue: "d", environments: { legacy: { defaultValue: "old" } } }),
    });
    const rule = {
      flagId: id,
      priority: 1,
      conditions: { conditions: [] },
      value: "r",
      environments: ["legacy-eu"],
    };
    const { id: ruleId } = await before.auth.api.createFeatureFlagRule({ body: rule });
    const listed = await startHost({ database, migrate: false, flags: options });
    onTestFinished(listed.close);
    const { api } = listed.auth;
    const valueIn = async (environment: string) =>
      (await api.evaluateFeatureFlag({ body: { flagKey: "k", environment } })).value;
    expect([await valueIn("legacy"), await valueIn("legacy-eu")]).toEqual(["old", "r"]);
    await api.updateFeatureFlag({ body: { id, environments: { legacy: { defaultValue: "new" } } } });
    await api.updateFeatureFlagRule({ body: { flagId: id, ruleId, environments: ["legacy-eu", "staging"] } });
    expect([await valueIn("legacy"), await valueIn("staging")]).toEqual(["new", "r"]);
    await api.updateFeatureFlag({ body: { id, environments: { legacy: null, unknown: null } } });
    expect(await valueIn("legacy")).toBe("d");
    expect(await issuesOf(api.updateFeatureFlag({ body: { id, environments: { legacy: {} } } }))).not.toBe(
      "accepted",
    );
    const { entries } = await api.listFeatureFlagAuditEntries({ query: { limit: 1 } });
    const revert = (server: typeof api) =>
      server.revertFeatureFlagAuditEntry({ body: { id: entries[0]?.id ?? "" } });
    expect(await issuesOf(revert(api))).toMatchObject([{ path: "environments.legacy" }]);
    await revert(before.auth.api);
    await expect.poll(() => valueIn("legacy")).toBe("new");
  });

  test("an evaluation in another environment has the flag's own settings and logs once; a visitor's logs nothing", async () => {
    const logs: string[] = [];
    const { auth, evaluate } = await memoryHost({ flags: options, log: (line) => void logs.push(line) });
    const environments = { production: { defaultValue: "p" } };
    await auth.api.createFeatureFlag({ body: flag({ enabled: true, defaultValue: "d", environments }) });
    const warnings = () => logs.filter((line) => line.includes("environments.list"));
    expect((await evaluate({ flagKey: "k", environment: "prodction" })).json.value).toBe("d");
    expect(warnings()).toEqual([]);
    const body = { flagKey: "k", environment: "prodction" };
    for (const _ of [1, 2]) expect((await auth.api.evaluateFeatureFlag({ body })).value).toBe("d");
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toContain(
      'in the environment "prodction": environments.list has no such name; did you mean "production"?',
    );
    for (let at = 0; at < 30; at++) {
      await auth.api.evaluateFeatureFlag({ body: { flagKey: "k", environment: `other-${at}` } });
    }
    expect(warnings()).toHaveLength(20);
    expect(warnings().at(-1)).toContain("Other names are not logged.");
  });
});
