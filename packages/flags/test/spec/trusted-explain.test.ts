/** Checks what explanations tell about the origin of attributes, and which attributes they look up for whom. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost } from "../memory-host.ts";
import { DATABASES, FIELDS, ruled, setFields, TRUSTED, trustedSuite, when } from "../trusted-host.ts";

const TRUSTING = {
  trusted: {
    ...TRUSTED,
    user: ["plan", "nickname"],
    selfDeclared: ["user.nickname"],
    compute: () => ({ seats: 12 }),
  },
};

const ATTRIBUTES = [
  "userId",
  "role",
  "organizationId",
  "organizationRole",
  "beta",
  "geo.country",
  "environment",
  "user.plan",
  "user.nickname",
  "trusted.seats",
];

/** The origins in the conditions of the only rule. */
const originsIn = (steps: { step: string; detail: Record<string, never> }[]) =>
  steps
    .filter(({ step }) => step === "rule")
    .flatMap(({ detail }) => (detail["conditions"] as unknown as Traced).conditions)
    .map(({ attribute, origin }) => [attribute, origin]);
interface Traced {
  readonly conditions: readonly { readonly attribute: string; readonly origin: string }[];
}

describe.each(DATABASES)("guide/flags-explain: How it works (%s)", (_name, open) => {
  let host: Host;
  let admin: Person;
  let owner: Person;
  let acme: string;
  trustedSuite(open, TRUSTING, async (started) => {
    host = started;
    [admin, owner] = [await host.person("admin", "admin"), await host.person("owner")];
    acme = await host.organization(admin, "acme");
    await setFields(host, "user", owner.id, { plan: "pro", nickname: "Ada" });
  });
  const all = {
    operator: "OR" as const,
    conditions: ATTRIBUTES.flatMap((attribute) => when(attribute, "equals", "x").conditions),
  };

  test("each condition shows the origin of its attribute", async () => {
    const { id } = await ruled(host, all);
    const context = { userId: owner.id, organizationId: acme, attributes: { beta: 1 } };
    const { json } = await host.call("POST", `/feature-flags/admin/flags/${id}/explain`, {
      as: admin,
      body: { context },
    });
    expect(originsIn(json.steps)).toEqual([
      ["userId", "claimed"],
      ["role", "claimed"],
      ["organizationId", "claimed"],
      ["organizationRole", "claimed"],
      ["beta", "claimed"],
      ["geo.country", "request"],
      ["environment", "request"],
      ["user.plan", "store"],
      ["user.nickname", "self_declared"],
      ["trusted.seats", "computed"],
    ]);
    expect(JSON.stringify(json.steps)).toContain('"actual":"pro"');
  });

  test("a claimed field is shown as claimed, in a trace too", async () => {
    const { id, key } = await ruled(host, all);
    const context = { userId: owner.id, user: { plan: "free" }, trusted: { seats: 1 } };
    const claimed = expect.arrayContaining([
      ["user.plan", "claimed"],
      ["user.nickname", "self_declared"],
      ["trusted.seats", "claimed"],
    ]);
    const explained = await host.auth.api.explainFeatureFlag({ params: { id }, body: { context } });
    expect(originsIn(explained.steps as never)).toEqual(claimed);
    const { json } = await host.evaluate({ flagKey: key, context, debug: true }, admin);
    expect(originsIn(json.metadata.trace)).toEqual(claimed);
  });

  test("in the trace of a session, its identity is verified", async () => {
    const { key } = await ruled(host, all);
    const { json } = await host.evaluate({ flagKey: key, debug: true }, admin);
    expect(originsIn(json.metadata.trace).slice(0, 5)).toEqual([
      ["userId", "verified"],
      ["role", "verified"],
      ["organizationId", "verified"],
      ["organizationRole", "verified"],
      ["beta", "claimed"],
    ]);
  });
});

describe("guide/flags-trusted: Claiming trusted attributes", () => {
  /** Two organizations with flags of their own; a stranger to the first one has a plan. */
  async function setUp() {
    const host = await memoryHost({ ...FIELDS, flags: { multiTenant: true, ...TRUSTING } });
    const [owner, member] = [await host.person("owner"), await host.person("member")];
    const stranger = await host.person("stranger");
    const acme = await host.organization(owner, "acme");
    await host.join(member, acme);
    await setFields(host, "user", stranger.id, { plan: "pro" });
    await setFields(host, "user", member.id, { plan: "pro" });
    const { api } = host.auth;
    const newFlag = async (key: string, organizationId: string) => {
      const flag = await api.createFeatureFlag({
        body: { key, name: "N", type: "string", enabled: true, defaultValue: "no", organizationId },
      });
      const conditions = when("user.plan", "equals", "pro");
      await api.createFeatureFlagRule({ body: { flagId: flag.id, priority: 1, conditions, value: "yes" } });
      return flag;
    };
    return {
      host,
      owner,
      member,
      stranger,
      own: await newFlag("own", acme),
      global: await newFlag("all", ""),
    };
  }

  test("the owner of an organization learns nothing about users who are not its members", async () => {
    const { host, owner, member, stranger, own } = await setUp();
    const ask = async (person: Person) =>
      (await host.evaluate({ flagKey: own.key, context: { userId: person.id } }, owner)).json.value;
    expect([await ask(member), await ask(stranger)]).toEqual(["yes", "no"]);
    const explain = async (person: Person) =>
      (
        await host.call("POST", `/feature-flags/admin/flags/${own.id}/explain`, {
          as: owner,
          body: { context: { userId: person.id } },
        })
      ).json;
    expect((await explain(member)).result.value).toBe("yes");
    const withheld = await explain(stranger);
    expect(withheld.result.value).toBe("no");
    expect(originsIn(withheld.steps)).toEqual([["user.plan", "withheld"]]);
  });

  test("its claims do not count for global flags, which read the owner's own attributes", async () => {
    const { host, owner, member, own, global } = await setUp();
    const context = { userId: member.id, user: { plan: "pro" } };
    const ask = async (key: string) => (await host.evaluate({ flagKey: key, context }, owner)).json.value;
    expect([await ask(own.key), await ask(global.key)]).toEqual(["yes", "no"]);
    await setFields(host, "user", owner.id, { plan: "pro" });
    expect(await ask(global.key)).toBe("yes");
  });
});
