/** Checks what a disabled flag answers, and the warning about a switch that changes nothing. */
import { createServerFlags } from "@halyard/flags";
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import { featureFlagsClient } from "@halyard/flags/client";
import { createAuthClient } from "better-auth/client";
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { wrapHost } from "../wrapped-host.ts";
import { flagHelpers } from "./flag-helpers.ts";
import { everyone, WAYS, when } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

const codesOf = ({ warnings = [] }: { warnings?: readonly { code: string }[] }) =>
  warnings.map(({ code }) => code);

describe.each(WAYS)("guide/flags-kill-switch: Value of a disabled flag (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make } = flagHelpers(way);

  test("a disabled flag answers its offValue with the reason disabled, alone, in a batch and in a bootstrap", async () => {
    const flag = await make({ type: "boolean", defaultValue: true, offValue: false });
    expect(flag.offValue).toBe(false);
    await way().createRule(flag.id, { priority: 1, conditions: everyone, value: true });
    await way().createOverride({ flagId: flag.id, userId: "u", value: true });
    await way().updateFlag(flag.id, { enabled: false });
    const context = { userId: "u" };
    const results = [
      (await way().evaluate({ flagKey: flag.key, default: true, context })).json,
      (await way().batch({ flagKeys: [flag.key], context })).json.flags[flag.key],
      (await way().bootstrap({ include: [flag.key], includeDisabled: true, context })).json.flags[flag.key],
    ];
    for (const result of results) expect(result).toMatchObject({ value: false, reason: "disabled" });
    await way().updateFlag(flag.id, { enabled: true });
    expect((await way().evaluate({ flagKey: flag.key, context })).json.value).toBe(true);
  });

  test("an environment's offValue goes before the flag's, and without any the defaultValue is answered", async () => {
    const environments = { prod: { enabled: false, offValue: "prod" }, stage: { enabled: false } };
    const flag = await make({ defaultValue: "on", offValue: "off", environments });
    const valueIn = async (environment: string) =>
      (await way().evaluate({ flagKey: flag.key, environment })).json.value;
    expect([await valueIn("prod"), await valueIn("stage"), await valueIn("other")]).toEqual([
      "prod",
      "off",
      "on",
    ]);
    await way().updateFlag(flag.id, { offValue: null });
    expect(await valueIn("stage")).toBe("on");
  });
});

describe("guide/flags-kill-switch: Value of a disabled flag", () => {
  test("server rendering, the client, the fast path, OFREP and explain answer the offValue", async () => {
    const key = newKey("switched");
    const body = { key, name: "N", type: "boolean" as const, defaultValue: true, offValue: false };
    const { id } = await host.auth.api.createFeatureFlag({ body });
    expect(await createServerFlags(host.auth).isEnabled(key, { server: true }, true)).toBe(false);
    const client = createAuthClient({ baseURL: host.origin, plugins: [featureFlagsClient()] });
    expect(await client.featureFlags.isEnabled(key, true)).toBe(false);
    const wrapped = await wrapHost(host);
    // The first request reads the flags.
    await wrapped.ask("evaluate", { flagKey: key });
    const fast = await wrapped.ask("evaluate", { flagKey: key, default: true });
    expect([fast.isFast, fast.json["value"], fast.json["reason"]]).toEqual([true, false, "disabled"]);
    const ofrep = await host.call("POST", `/ofrep/v1/evaluate/flags/${key}`, { body: {} });
    expect(ofrep.json).toMatchObject({ value: false, reason: "DISABLED" });
    const { result, steps } = await host.auth.api.explainFeatureFlag({ params: { id }, body: {} });
    expect(result).toMatchObject({ value: false, reason: "disabled" });
    expect(steps).toEqual([{ step: "enabled", outcome: "disabled", detail: { source: "offValue" } }]);
  });
});

describe.each(WAYS)("guide/flags-kill-switch: The warning OFF_CHANGES_NOTHING (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make } = flagHelpers(way);

  test("every write of a flag or a rule that leaves a switch which changes nothing warns", async () => {
    const flag = await make({ type: "boolean", defaultValue: true });
    expect(codesOf(flag)).toEqual(["OFF_CHANGES_NOTHING"]);
    expect(flag.warnings[0].message).toMatch(`"${flag.key}"`);
    expect(flag.warnings[0].message).toMatch(/answers true on and off\. Set offValue/);
    expect(codesOf((await way().updateFlag(flag.id, { enabled: false })).json)).toHaveLength(1);
    const rule = { priority: 1, conditions: when("plan", "equals", "pro") };
    expect(codesOf((await way().createRule(flag.id, { ...rule, value: true })).json)).toHaveLength(1);
    expect((await way().listFlags({ prefix: flag.key })).json.flags[0]).not.toHaveProperty("warnings");
  });

  test("a flag whose switch changes something has no warnings", async () => {
    for (const fields of [{ defaultValue: true, offValue: false }, { rolloutPercentage: 50 }]) {
      expect(await make({ type: "boolean", ...fields })).not.toHaveProperty("warnings");
    }
    const ruled = await make({ type: "boolean" });
    const rule = { priority: 1, conditions: when("plan", "equals", "pro"), value: true };
    expect((await way().createRule(ruled.id, rule)).json).not.toHaveProperty("warnings");
  });

  test("an environment that keeps its value is named", async () => {
    const environments = { prod: { defaultValue: true } };
    const { warnings } = await make({ type: "boolean", rolloutPercentage: 50, environments });
    // The rollout gives true too, so that in this environment on and off are the same.
    expect(warnings).toEqual([
      { code: "OFF_CHANGES_NOTHING", message: expect.stringContaining('in the environment "prod"') },
    ]);
  });
});

describe("guide/flags-kill-switch: The warning OFF_CHANGES_NOTHING", () => {
  test("the admin client returns the warnings", async () => {
    const client = createAuthClient({
      baseURL: host.origin,
      fetchOptions: { headers: { ...admin.headers, origin: host.origin } },
      plugins: [featureFlagsClient(), featureFlagsAdminClient()],
    });
    const { flags } = client.featureFlags.admin;
    const created = await flags.create({ key: newKey(), name: "N", type: "boolean", defaultValue: true });
    expect(created.data?.warnings?.map(({ code }) => code)).toEqual(["OFF_CHANGES_NOTHING"]);
    const changed = await flags.update(created.data?.id ?? "", { offValue: false });
    expect(changed.data).toMatchObject({ offValue: false });
    expect(changed.data).not.toHaveProperty("warnings");
  });
});
