/** Checks computed attributes, and what happens when trusted attributes cannot be read. */
import type { TrustedComputeInput } from "@halyard/flags";
import { describe, expect, test, vi } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey } from "../memory-host.ts";
import { DATABASES, FIELDS, ruled, setFields, TRUSTED, trustedSuite, when } from "../trusted-host.ts";

const answerFor = async (host: Host, key: string, as?: Person) =>
  (await host.evaluate({ flagKey: key }, as)).json.value;

describe.each(DATABASES)("guide/flags-trusted: Computed attributes (%s)", (_name, open) => {
  let host: Host;
  const calls: TrustedComputeInput[] = [];
  const compute = async (input: TrustedComputeInput) => {
    calls.push(input);
    return { seats: input.organization ? 12 : 1, since: new Date("2026-01-02") };
  };
  trustedSuite(open, { trusted: { ...TRUSTED, compute } }, (started) => {
    host = started;
  });

  test("trusted.<name> is what compute returned, once per user and organization", async () => {
    const { key } = await ruled(host, when("trusted.seats", "greater_than", 10));
    const [member, loner] = [await host.person("member"), await host.person("loner")];
    const acme = await host.organization(member, "acme");
    for (let round = 0; round < 5; round++) {
      expect([await answerFor(host, key, member), await answerFor(host, key, loner)]).toEqual(["yes", "no"]);
    }
    const of = (person: Person) => calls.filter(({ user }) => user?.id === person.id);
    expect([of(member).length, of(loner).length]).toEqual([1, 1]);
    expect(of(member)[0]).toMatchObject({
      user: { email: member.email },
      organization: { id: acme },
      session: { userId: member.id },
    });
    expect(of(loner)[0]).not.toHaveProperty("organization");
  });

  test("it is not called for anonymous visitors, nor for flags that do not read it", async () => {
    const { key } = await ruled(host, when("trusted.seats", "less_than", 100));
    const other = await ruled(host, when("user.plan", "equals", "pro"));
    const user = await host.person("unread");
    const before = calls.length;
    expect(await answerFor(host, key)).toBe("no");
    expect(await answerFor(host, other.key, user)).toBe("no");
    expect(calls.length).toBe(before);
  });

  test("a date is an ISO date", async () => {
    const { key } = await ruled(host, when("trusted.since", "less_than", "2026-02-01"));
    expect(await answerFor(host, key, await host.person("dated"))).toBe("yes");
  });

  test("a server call gets the results for the ids it names", async () => {
    const { key } = await ruled(host, when("trusted.seats", "equals", 12));
    const owner = await host.person("named");
    const named = await host.organization(owner, "named");
    const ask = async (context: object) =>
      (await host.auth.api.evaluateFeatureFlag({ body: { flagKey: key, context } })).value;
    expect(await ask({ organizationId: named })).toBe("yes");
    expect(await ask({ userId: owner.id })).toBe("no");
    expect(await ask({})).toBe("no");
    expect(await ask({ userId: "missing", organizationId: "missing" })).toBe("no");
  });
});

describe("guide/flags-trusted: Failures", () => {
  /** A flag with one rule per polarity, each of which would match without its attribute. */
  async function skippable(host: Host, root: string) {
    const { api } = host.auth;
    const flag = await api.createFeatureFlag({
      body: { key: newKey(), name: "N", type: "string", enabled: true, defaultValue: "default" },
    });
    const path = `${root}.field`;
    const negated = { conditions: [], not: when(path, "equals", 1) };
    const segment = await api.createFeatureFlagSegment({ body: { key: newKey("s"), conditions: negated } });
    const all = [
      when(path, "equals", 12),
      when(path, "not_equals", 1),
      when(path, "not_in", [1]),
      negated,
      { conditions: [{ segment: segment.key }] },
      { operator: "OR" as const, conditions: [{ conditions: [] }, ...when(path, "equals", 1).conditions] },
    ];
    for (const [priority, conditions] of all.entries()) {
      await api.createFeatureFlagRule({
        body: { flagId: flag.id, priority, conditions, value: `rule ${priority}` },
      });
    }
    return flag;
  }

  test("a compute that never succeeded skips the rules that read it, in either polarity", async () => {
    const log = vi.fn();
    const compute = async () => {
      throw new Error("the billing system is down");
    };
    const host = await memoryHost({ flags: { trusted: { compute } }, log });
    const user = await host.person("user");
    const admin = await host.person("admin", "admin");
    const flag = await skippable(host, "trusted");
    expect(await answerFor(host, flag.key, user)).toBe("default");
    const why = await host.call("POST", `/feature-flags/admin/flags/${flag.id}/explain`, {
      as: admin,
      body: { context: { userId: user.id } },
    });
    expect(why.json.result.value).toBe("default");
    const rules = why.json.steps.filter(({ step }: { step: string }) => step === "rule");
    expect(rules).toHaveLength(6);
    for (const { outcome, detail } of rules) {
      expect([outcome, detail.why]).toEqual(["skipped", "the rule reads trusted, which could not be read"]);
    }
    const metrics = await host.auth.api.getFeatureFlagsMetrics();
    expect(String(metrics)).toMatch(/^halyard_flags_trusted_computations_total\{outcome="failed"\} [1-9]/m);
    expect(String(metrics)).toMatch(/^halyard_flags_trusted_unreadable_total\{root="trusted"\} [1-9]/m);
    const entries = log.mock.calls.filter(([message]) => String(message).includes("trusted.compute failed"));
    expect(entries).toHaveLength(1);
  });

  test("anonymous visitors have no trusted attributes, so negated rules match for them", async () => {
    const compute = async () => {
      throw new Error("the billing system is down");
    };
    const host = await memoryHost({ flags: { trusted: { compute } } });
    const flag = await skippable(host, "trusted");
    expect(await answerFor(host, flag.key)).toBe("rule 1");
  });

  test("a compute that fails later keeps its last result", async () => {
    let calls = 0;
    const compute = async () => {
      calls += 1;
      if (calls > 1) throw new Error("the billing system is down");
      return { seats: 12 };
    };
    const host = await memoryHost({ flags: { trusted: { compute, ttlMs: 20 } } });
    const user = await host.person("user");
    const { key } = await ruled(host, when("trusted.seats", "equals", 12));
    await expect
      .poll(async () => {
        expect(await answerFor(host, key, user)).toBe("yes");
        return calls;
      })
      .toBeGreaterThan(1);
    expect(await answerFor(host, key, user)).toBe("yes");
  });

  test.for([undefined, null, 12, [1], { seats: () => 1 }, { seats: Number.NaN }])(
    "a compute that returns %o fails",
    async (result) => {
      const host = await memoryHost({ flags: { trusted: { compute: () => result as never } } });
      const flag = await skippable(host, "trusted");
      expect(await answerFor(host, flag.key, await host.person("user"))).toBe("default");
    },
  );

  test("a compute that hangs holds an answer for 1 s, and later ones not at all", async () => {
    const host = await memoryHost({ flags: { trusted: { compute: () => new Promise(() => {}) } } });
    const user = await host.person("user");
    const flag = await skippable(host, "trusted");
    const other = await ruled(host, when("email", "equals", user.email));
    expect(await answerFor(host, flag.key, user)).toBe("default");
    const startedAt = performance.now();
    for (let round = 0; round < 5; round++) expect(await answerFor(host, flag.key, user)).toBe("default");
    expect(await answerFor(host, other.key, user)).toBe("yes");
    // Each of them would wait 1 s.
    expect(performance.now() - startedAt).toBeLessThan(4500);
  });

  test("rows that cannot be read skip the rules, and no evaluation fails", async () => {
    const log = vi.fn();
    const trusted = { user: ["field"] };
    const fields = { user: { field: { type: "number" as const, required: false, input: false } } };
    const host = await memoryHost({ fields, flags: { trusted }, log });
    const flag = await skippable(host, "user");
    const user = await host.person("user");
    const real = host.adapter.findMany.bind(host.adapter);
    const findMany = vi.spyOn(host.adapter, "findMany").mockImplementation((query) => {
      if (query.model === "user") return Promise.reject(new Error("the database is down"));
      return real(query);
    });
    const ask = async () =>
      (await host.auth.api.evaluateFeatureFlag({ body: { flagKey: flag.key, context: { userId: user.id } } }))
        .value;
    expect(await ask()).toBe("default");
    expect(log.mock.calls.filter(([message]) => String(message).includes("of a user"))).toHaveLength(1);
    findMany.mockRestore();
    await setFields(host, "user", user.id, { field: 12 });
    await expect.poll(ask).toBe("rule 0");
  });

  test("without the option, nothing is looked up", async () => {
    const host = await memoryHost(FIELDS);
    const user = await host.person("user");
    await setFields(host, "user", user.id, { plan: "pro" });
    const { key } = await ruled(host, when("user.plan", "equals", "pro"));
    const findMany = vi.spyOn(host.adapter, "findMany");
    expect(await answerFor(host, key, user)).toBe("no");
    expect((await host.evaluate({ flagKey: key, context: { user: { plan: "pro" } } }, user)).json.value).toBe(
      "no",
    );
    expect(findMany.mock.calls.filter(([{ model }]) => model === "user")).toEqual([]);
  });
});
