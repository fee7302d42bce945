/** Checks that a tenant cannot use more than its share of the service: limits of writes, and the size of responses. */
import { describe, expect, onTestFinished, test } from "vitest";
import { type Host, type Person, startHost } from "./host.ts";
import { memoryHost, newKey } from "./memory-host.ts";
import { wrapHost } from "./wrapped-host.ts";

const OPTIONS = { flags: { multiTenant: true } };
const PATTERNS = { conditions: [{ attribute: "a", operator: "regex" as const, value: "(?:a?){80}a{80}" }] };

async function tenant(host: Host, name: string): Promise<{ owner: Person; id: string }> {
  const owner = await host.person(name);
  return { owner, id: await host.organization(owner, name) };
}

const createFlag = (host: Host, organizationId: string, fields: object = {}) =>
  host.auth.api.createFeatureFlag({
    body: { key: newKey(), name: "N", type: "json", enabled: true, organizationId, ...fields },
  });
const createRule = (host: Host, owner: Person, flagId: string, conditions: object) =>
  host.call("POST", `/feature-flags/admin/flags/${flagId}/rules`, {
    as: owner,
    body: { priority: 1, conditions, value: 1 },
  });

describe("conditions", () => {
  test("that could take too long are refused, for the flag and for its tenant, also at the same time", async () => {
    const host = await memoryHost(OPTIONS);
    const [mallory, victim] = [await tenant(host, "mallory"), await tenant(host, "victim")];
    const parts = Array.from({ length: 22 }, (_, at) => ({
      attribute: "a",
      operator: "contains" as const,
      value: `part ${at}`,
    }));
    const search = { operator: "OR" as const, conditions: parts };
    const first = await createFlag(host, mallory.id);
    for (let rule = 0; rule < 2; rule++)
      expect((await createRule(host, mallory.owner, first.id, search)).status).toBe(201);
    const third = await createRule(host, mallory.owner, first.id, search);
    expect([third.status, third.json.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(third.json.details).toEqual({ field: "conditions", limit: 300_000 });

    const flags = await Promise.all(Array.from({ length: 20 }, () => createFlag(host, mallory.id)));
    const answers = await Promise.all(flags.map(({ id }) => createRule(host, mallory.owner, id, PATTERNS)));
    const refused = answers.filter(({ status }) => status === 400);
    expect(answers.length - refused.length).toBeGreaterThan(3);
    expect(refused.length).toBeGreaterThan(3);
    for (const { json } of refused) expect(json.details).toEqual({ limit: 2_500_000 });

    // The tenant may still turn flags off and delete rules, and other tenants are not affected.
    const patched = await host.call("PATCH", `/feature-flags/admin/flags/${first.id}`, {
      as: mallory.owner,
      body: { enabled: false },
    });
    expect(patched.status).toBe(200);
    const other = await createFlag(host, victim.id);
    expect((await createRule(host, victim.owner, other.id, PATTERNS)).status).toBe(201);
  });

  test("with the longest literal pattern that is allowed are accepted", async () => {
    const host = await memoryHost(OPTIONS);
    const { owner, id: organizationId } = await tenant(host, "acme");
    const flag = await createFlag(host, organizationId);
    const longest = { attribute: "a", operator: "regex", value: `${"a".repeat(255)}$` };
    expect((await createRule(host, owner, flag.id, { conditions: [longest] })).status).toBe(201);
  });

  test("that were stored with a higher limit may stay or shrink, but not grow", async () => {
    const host = await memoryHost(OPTIONS);
    const { owner, id: organizationId } = await tenant(host, "acme");
    const searches = (count: number) => ({
      conditions: Array(count).fill({ attribute: "a", operator: "contains", value: "part" }),
    });
    const flag = await createFlag(host, organizationId);
    const rule = (await createRule(host, owner, flag.id, searches(1))).json;
    const segment = await host.auth.api.createFeatureFlagSegment({
      body: { key: "s", organizationId, conditions: searches(1) },
    });
    const stored = { conditions: JSON.stringify(searches(60)) };
    const [ofRule, ofSegment] = [
      [{ field: "ruleId", value: rule.id }],
      [{ field: "segmentId", value: segment.id }],
    ];
    await host.adapter.update({ model: "featureFlagRule", where: ofRule, update: stored });
    await host.adapter.update({ model: "featureFlagSegment", where: ofSegment, update: stored });
    // The first process has the conditions from before in memory.
    const restarted = await startHost({ ...OPTIONS, database: host.db, migrate: false });
    onTestFinished(restarted.close);
    const patch = async (path: string, body: object) =>
      (await restarted.call("PATCH", `/feature-flags/admin/${path}`, { as: owner, body })).status;
    for (const path of [`flags/${flag.id}/rules/${rule.id}`, `segments/${segment.id}`]) {
      expect(await patch(path, { conditions: searches(55) })).toBe(200);
      expect(await patch(path, { conditions: searches(56) })).toBe(400);
    }
    expect(await patch(`flags/${flag.id}/rules/${rule.id}`, { value: 2 })).toBe(200);
  });

  test("of a segment count for each flag that uses it, also when the segment changes later", async () => {
    const host = await memoryHost(OPTIONS);
    const { owner, id: organizationId } = await tenant(host, "acme");
    const segment = await host.auth.api.createFeatureFlagSegment({
      body: { key: "s", organizationId, conditions: { conditions: [] } },
    });
    for (let at = 0; at < 20; at++) {
      const flag = await createFlag(host, organizationId);
      const named = await createRule(host, owner, flag.id, { conditions: [{ segment: "s" }] });
      expect(named.status).toBe(201);
    }
    const change = (conditions: object) =>
      host.call("PATCH", `/feature-flags/admin/segments/${segment.id}`, { as: owner, body: { conditions } });
    expect((await change(PATTERNS)).json.details).toEqual({ limit: 2_500_000 });
    expect((await change({ conditions: [{ attribute: "a", operator: "regex", value: "x" }] })).status).toBe(
      200,
    );
  });
});

describe("a response over 4 MiB", () => {
  test("is refused with the remedy on both paths, and a part of the flags is answered", async () => {
    const host = await memoryHost(OPTIONS);
    const { owner, id } = await tenant(host, "acme");
    for (let at = 0; at < 72; at++) {
      await createFlag(host, id, { key: `big-${at}`, defaultValue: "x".repeat(62_000) });
    }
    const wrapped = await wrapHost(host, OPTIONS);
    await wrapped.ask("bootstrap", { prefix: "none" }, owner.headers);
    const remedy = { code: "VALIDATION_ERROR", details: { limit: 4 * 1024 * 1024 } };
    const include = Array.from({ length: 72 }, (_, at) => `big-${at}`);
    for (const body of [{}, { select: "value" }, { include }]) {
      const fast = await wrapped.ask("bootstrap", body, owner.headers);
      const ordinary = await host.call("POST", "/feature-flags/bootstrap", { as: owner, body });
      expect([fast.isFast, fast.status, ordinary.status]).toEqual([true, 400, 400]);
      expect(fast.json).toMatchObject(remedy);
      expect(ordinary.json).toEqual(fast.json);
    }
    const batch = await host.call("POST", "/feature-flags/evaluate-batch", {
      as: owner,
      body: { flagKeys: include },
    });
    expect([batch.status, batch.json]).toEqual([400, expect.objectContaining(remedy)]);
    const part = await wrapped.ask("bootstrap", { select: "value", prefix: "big-1" }, owner.headers);
    expect([part.status, Object.keys(part.json["flags"] ?? {}).length]).toEqual([200, 11]);
  });
});

test("contains reads 4,096 characters of a text and 1,024 items of a list", async () => {
  const host = await memoryHost();
  const { id, key } = await createFlag(host, "", { defaultValue: 0 });
  const { api } = host.auth;
  const conditions = { conditions: [{ attribute: "a", operator: "contains" as const, value: "needle" }] };
  await api.createFeatureFlagRule({ body: { flagId: id, priority: 1, conditions, value: 1 } });
  const values: unknown[] = [];
  const list = (length: number) => [...Array(length).fill(0), "needle"];
  for (const a of [`${"a".repeat(4090)}needle`, `${"a".repeat(4091)}needle`, list(1023), list(1024)]) {
    const body = { flagKey: key, context: { attributes: { a } } };
    values.push((await api.evaluateFeatureFlag({ body })).value);
  }
  expect(values).toEqual([1, 0, 1, 0]);
});
