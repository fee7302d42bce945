/** Checks that values are compared with their declarations at run time: at writes, at reads, and in the log. */
import { createServerFlags, defineFlags, featureFlags } from "@halyard/flags";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { freshPostgres, freshSqlite } from "./databases.ts";
import { type Host, startHost } from "./host.ts";
import { flag, memoryHost, newKey } from "./memory-host.ts";

type Limits = { uploads: number; seats: number };
const declared = defineFlags({
  limits: { type: "json", default: { uploads: 10, seats: 3 } as Limits },
  mode: { type: "string", values: ["a", "b"], default: "a" },
  plan: { type: "json", schema: z.object({ price: z.number().nullable(), tags: z.array(z.string()) }) },
  colours: { type: "json", default: ["red"] as string[] },
});

const LIMITS = { key: "limits", name: "Limits", type: "json", enabled: true } as const;
const ADVICE = "Send a value that fits, or change the declaration in defineFlags.";

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each([
  ["SQLite", freshSqlite],
  ["PostgreSQL", freshPostgres],
] as const)("a write on %s", (_name, fresh) => {
  async function start(): Promise<{ host: Host; stop: () => Promise<void> }> {
    const made = await fresh();
    const { database, close } = made.connect();
    const host = await startHost({ database, flags: { flags: declared } });
    const stop = async () => {
      await host.close();
      await close();
      await made.drop();
    };
    return { host, stop };
  }

  test("of a value that is not as declared is refused, and says which flag, where and what to do", async () => {
    const { host, stop } = await start();
    const { api } = host.auth;
    const refused = async (call: Promise<unknown>, problem: string) => {
      await expect(call).rejects.toMatchObject({
        statusCode: 400,
        body: { code: "INVALID_FLAG_TYPE", message: expect.stringContaining(`${problem}. ${ADVICE}`) },
      });
    };
    const create = (defaultValue: Limits | object) =>
      api.createFeatureFlag({ body: { ...LIMITS, defaultValue: defaultValue as Limits } });
    await refused(
      create({ uplods: "ten" }),
      'Flag "limits" would not be as declared: defaultValue.uploads is missing',
    );
    await refused(create({ uploads: "ten", seats: 3 }), "defaultValue.uploads is a string, not a number");
    const { id } = await create({ uploads: 1, seats: 2, extra: true });

    await refused(
      api.updateFeatureFlag({ body: { id, defaultValue: [1] } }),
      "defaultValue is a list, not an object",
    );
    await refused(
      api.updateFeatureFlag({ body: { id, defaultValue: null } }),
      "defaultValue is null, not an object",
    );
    const variants = [{ key: "v", weight: 100, value: { uploads: 1 } }];
    await refused(api.updateFeatureFlag({ body: { id, variants } }), "variants[0].value.seats is missing");
    const environments = { beta: { defaultValue: [1] } };
    await refused(
      api.updateFeatureFlag({ body: { id, environments } }),
      "environments.beta.defaultValue is a list, not an object",
    );
    const rule = {
      flagId: id,
      priority: 1,
      conditions: { conditions: [] },
      value: { uploads: 1, seats: "2" },
    };
    await refused(api.createFeatureFlagRule({ body: rule }), "value.seats is a string, not a number");
    const { id: ruleId } = await api.createFeatureFlagRule({
      body: { ...rule, value: { uploads: 1, seats: 2 } },
    });
    await refused(
      api.updateFeatureFlagRule({ body: { flagId: id, ruleId, value: 1 } }),
      "value is a number, not an object",
    );
    const override = { flagId: id, userId: "u", value: "none" };
    await refused(api.createFeatureFlagOverride({ body: override }), "value is a string, not an object");

    await refused(
      api.createFeatureFlag({ body: { key: "mode", name: "M", type: "string", defaultValue: "zzz" } }),
      'Flag "mode" would not be as declared: defaultValue is "zzz", not one of "a", "b"',
    );
    await refused(
      api.createFeatureFlag({ body: { key: "mode", name: "M", type: "number" } }),
      'Flag "mode" would not be as declared: type is number, not string',
    );
    // Other fields, and other flags, are free.
    expect((await api.updateFeatureFlag({ body: { id, enabled: false } })).enabled).toBe(false);
    const other = await api.createFeatureFlag({ body: flag({ key: newKey(), defaultValue: "zzz" }) });
    await refused(
      api.updateFeatureFlag({ body: { id: other.id, key: "mode" } }),
      'defaultValue is "zzz", not one of "a", "b"',
    );
    const ruled = await api.createFeatureFlag({ body: flag({ key: newKey(), defaultValue: "a" }) });
    await api.createFeatureFlagRule({
      body: { flagId: ruled.id, priority: 7, conditions: { conditions: [] }, value: "zzz" },
    });
    await refused(
      api.updateFeatureFlag({ body: { id: ruled.id, key: "mode" } }),
      'value of the rule with priority 7 is "zzz", not one of "a", "b"',
    );
    await stop();
  });
});

test("a schema decides which JSON fits, and its message is repeated", async () => {
  const { auth } = await memoryHost({ flags: { flags: declared } });
  const create = (defaultValue: { price: number | null; tags: (string | number)[] }) =>
    auth.api.createFeatureFlag({
      body: { key: "plan", name: "P", type: "json", enabled: true, defaultValue },
    });
  await expect(create({ price: 1, tags: ["x", 2] })).rejects.toThrow(
    /^Flag "plan" would not be as declared: defaultValue\.tags\[1\] is refused by its schema: .+ Send a value that fits/,
  );
  expect((await create({ price: null, tags: [] })).defaultValue).toEqual({ price: null, tags: [] });
});

test("a value that an asynchronous schema would have to check is refused", async () => {
  const validate = async () => ({ value: {} });
  const asynchronous = { "~standard": { version: 1, vendor: "test", validate } } as const;
  const { auth } = await memoryHost({ flags: { flags: { later: { type: "json", schema: asynchronous } } } });
  await expect(
    auth.api.createFeatureFlag({ body: { key: "later", name: "L", type: "json", defaultValue: {} } }),
  ).rejects.toThrow(
    "defaultValue cannot be checked, because its schema is asynchronous, or a check in it throws.",
  );
});

test("a value for which a check of its schema throws is refused, and the process goes on", async () => {
  const unhandled: unknown[] = [];
  const collect = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", collect);
  const schema = z.object({ size: z.string().refine((text) => BigInt(text) > 0n) });
  const { auth } = await memoryHost({ flags: { flags: { plan: { type: "json", schema } } } });
  const create = (size: string) =>
    auth.api.createFeatureFlag({ body: { key: "plan", name: "P", type: "json", defaultValue: { size } } });
  await expect(create("large")).rejects.toThrow("defaultValue cannot be checked");
  expect((await create("5")).defaultValue).toEqual({ size: "5" });
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", collect);
  expect(unhandled).toEqual([]);
});

test("an item of a list must be like one of the default's items", async () => {
  const { auth } = await memoryHost({ flags: { flags: declared } });
  const create = (defaultValue: (string | number)[]) =>
    auth.api.createFeatureFlag({ body: { key: "colours", name: "C", type: "json", defaultValue } });
  await expect(create(["blue", 5])).rejects.toThrow("defaultValue[1] is a number, not a string");
  expect((await create([])).defaultValue).toEqual([]);
});

test("a stored value that is not as declared reads as the default, and the log says so once", async () => {
  const { auth } = await memoryHost();
  await auth.api.createFeatureFlag({ body: { ...LIMITS, defaultValue: { uplods: "ten" } } });
  await auth.api.createFeatureFlag({
    body: { key: "mode", name: "M", type: "string", enabled: true, defaultValue: "zzz" },
  });
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const flags = createServerFlags(auth, declared);
  expect((await flags.getValue("limits", { server: true })).seats + 1).toBe(4);
  expect((await flags.getValue("limits", { server: true })).uploads).toBe(10);
  expect(await flags.getValue("mode", { server: true })).toBe("a");
  expect(log.mock.calls.map(([message]) => message)).toEqual([
    '[feature-flags] Flag "limits" is not as declared: value.uploads is missing. The default is used. Change the stored flag or its declaration.',
    '[feature-flags] Flag "mode" is not as declared: value is "zzz", not one of "a", "b". The default is used. Change the stored flag or its declaration.',
  ]);
});

test("a default that does not fit its own schema is refused at start", () => {
  const flags = {
    plan: { type: "json", schema: z.object({ price: z.number() }), default: { cost: 1 } },
  } as const;
  expect(() => featureFlags({ flags })).toThrow(
    /^featureFlags: flags\["plan"\]\.default\.price is refused by its schema: .+ Change the default or its declaration\. See \S+$/,
  );
  expect(() => featureFlags({ flags: { plan: { type: "json", schema: "object" as never } } })).toThrow(
    'featureFlags: flags["plan"].schema is "object". Set it to a schema of Zod, Valibot, ArkType or another Standard Schema.',
  );
});

describe("a declaration that is newer than stored values", () => {
  async function deploy() {
    const { connect, drop } = await freshSqlite();
    const { database, close } = connect();
    const before = await startHost({ database });
    onTestFinished(async () => {
      await close();
      await drop();
    });
    await before.auth.api.createFeatureFlag({ body: { ...LIMITS, defaultValue: { old: true } } });
    return {
      before,
      async next(): Promise<Host> {
        await before.close();
        const host = await startHost({ database, migrate: false, flags: { flags: declared } });
        onTestFinished(host.close);
        return host;
      },
    };
  }
  const refused = {
    statusCode: 400,
    body: { code: "INVALID_FLAG_TYPE", message: expect.stringContaining(ADVICE) },
  };
  const newest = async ({ auth }: Host) =>
    (await auth.api.listFeatureFlagAuditEntries({ query: {} })).entries[0]?.id;

  test("refuses a revert to a value that does not fit, but not the revert of a switch", async () => {
    const { before, next } = await deploy();
    await before.auth.api.updateFeatureFlag({ body: { id: "key:limits", enabled: false } });
    const host = await next();
    const revert = async (id = "") => host.auth.api.revertFeatureFlagAuditEntry({ body: { id } });
    await revert(await newest(host));
    const get = () => host.auth.api.getFeatureFlag({ params: { id: "key:limits" } });
    expect(await get()).toMatchObject({ enabled: true, defaultValue: { old: true } });
    const fitting = { uploads: 1, seats: 1 };
    await host.auth.api.updateFeatureFlag({ body: { id: "key:limits", defaultValue: fitting } });
    await expect(revert(await newest(host))).rejects.toMatchObject(refused);
    expect(await get()).toMatchObject({ defaultValue: fitting });
  });

  test("refuses to bring back a deleted flag whose rule does not fit", async () => {
    const { before, next } = await deploy();
    await before.auth.api.updateFeatureFlag({
      body: { id: "key:limits", defaultValue: { uploads: 1, seats: 1 } },
    });
    const conditions = { conditions: [] };
    await before.auth.api.createFeatureFlagRule({
      body: { flagId: "key:limits", priority: 1, conditions, value: { old: true } },
    });
    await before.auth.api.deleteFeatureFlag({ body: { id: "key:limits" } });
    const host = await next();
    const id = (await newest(host)) ?? "";
    await expect(host.auth.api.revertFeatureFlagAuditEntry({ body: { id } })).rejects.toMatchObject(refused);
    expect((await host.auth.api.listFeatureFlags({ query: {} })).flags).toEqual([]);
  });

  test("refuses to apply a plan that was made before it", async () => {
    const { before, next } = await deploy();
    const { id } = await before.auth.api.planFeatureFlags({
      body: { changes: [{ flagKey: "limits", fields: { defaultValue: { older: true } } }] },
    });
    const host = await next();
    await expect(host.auth.api.applyFeatureFlagPlan({ body: { id } })).rejects.toMatchObject(refused);
  });
});
