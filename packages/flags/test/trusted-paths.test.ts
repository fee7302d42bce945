/** Trusted attributes on the fast path and on Better Auth's path, in one process and in several. */
import { type FeatureFlagsOptions, featureFlags, withFeatureFlags } from "@halyard/flags";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { freshPostgres } from "./databases.ts";
import { type Host, type HostOptions, type Person, startHost } from "./host.ts";
import { memoryHost } from "./memory-host.ts";
import { moveClocks } from "./moved-clocks.ts";
import { DATABASES, FIELDS, ruled, sessionOf, setFields, TRUSTED, when } from "./trusted-host.ts";
import { wrapHost } from "./wrapped-host.ts";

const flags: FeatureFlagsOptions = {
  trusted: { ...TRUSTED, compute: ({ user }) => ({ name: String(user?.["name"]) }) },
};

async function setUp(options: Partial<HostOptions> = {}) {
  const host = await memoryHost({ ...FIELDS, flags, ...options });
  const node = await wrapHost(host, { flags });
  return { host, node };
}

/** Asks until the fast path answers, and expects the same from both paths before. */
async function askBoth(
  { host, node }: Awaited<ReturnType<typeof setUp>>,
  path: string,
  body: object,
  as?: Person,
): Promise<{ isFast: boolean; json: Record<string, unknown> }> {
  const plain = await host.request(`/feature-flags/${path}`, body, as?.headers);
  const first = await node.ask(path, body, as?.headers);
  const second = await node.ask(path, body, as?.headers);
  const comparable = ({ status, json }: { status: number; json: Record<string, unknown> }) => {
    const { evaluatedAt: _time, ...rest } = json;
    return JSON.stringify([status, rest]);
  };
  expect(comparable(first)).toBe(comparable(plain));
  expect(comparable(second)).toBe(comparable(plain));
  return second;
}

describe("the fast path", () => {
  test("answers as Better Auth's path does, byte for byte, and from memory", async () => {
    const at = await setUp();
    const { host } = at;
    const [pro, free] = [await host.person("pro"), await host.person("free")];
    await setFields(host, "user", pro.id, { plan: "pro" });
    await setFields(host, "session", await sessionOf(host, free), { channel: "partner" });
    const keys: string[] = [];
    for (const [attribute, value] of [
      ["user.plan", "pro"],
      ["session.channel", "partner"],
      ["trusted.name", "pro"],
    ] as const) {
      keys.push((await ruled(host, when(attribute, "equals", value))).key);
    }
    const findMany = vi.spyOn((await at.node.auth.$context).adapter, "findMany");
    for (const as of [pro, free, undefined]) {
      for (const flagKey of keys) {
        const { isFast } = await askBoth(at, "evaluate", { flagKey, contextInResponse: true }, as);
        expect(isFast).toBe(true);
      }
      await askBoth(at, "evaluate-batch", { flagKeys: keys }, as);
      await askBoth(at, "bootstrap", {}, as);
      const context = { user: { plan: "pro" } };
      await askBoth(at, "evaluate", { flagKey: keys[0], context }, as);
      await askBoth(at, "bootstrap", { context }, as);
      await askBoth(at, "evaluate", { flagKey: keys[0], context: { trusted: "text" } }, as);
    }
    const { json } = await at.node.ask("evaluate", { flagKey: keys[0] }, pro.headers);
    expect(json["value"]).toBe("yes");
    findMany.mockClear();
    for (let round = 0; round < 20; round++) {
      const asked = await at.node.ask("bootstrap", {}, pro.headers);
      expect(asked.isFast).toBe(true);
    }
    expect(findMany.mock.calls.filter(([{ model }]) => model === "user").length).toBeLessThanOrEqual(1);
  });

  test("counts a change of this process for the next request", async () => {
    const { host, node } = await setUp();
    const user = await host.person("user");
    const acme = await host.organization(user, "acme");
    const byPlan = await ruled(host, when("user.plan", "equals", "pro"));
    const byTier = await ruled(host, when("organization.tier", "equals", "gold"));
    const { adapter } = await node.auth.$context;
    const answerFor = async (flagKey: string) =>
      (await node.ask("evaluate", { flagKey }, user.headers)).json["value"];
    const set = (model: string, id: string, update: object) =>
      adapter.update({ model, where: [{ field: "id", value: id }], update });
    for (let round = 0; round < 3; round++) expect(await answerFor(byTier.key)).toBe("no");
    await set("organization", acme, { tier: "gold" });
    expect(await answerFor(byTier.key)).toBe("yes");
    for (let round = 0; round < 3; round++) expect(await answerFor(byPlan.key)).toBe("no");
    await set("user", user.id, { plan: "pro" });
    expect(await answerFor(byPlan.key)).toBe("yes");
    await set("user", user.id, { plan: "free" });
    expect(await answerFor(byPlan.key)).toBe("no");
  });
});

describe.each(DATABASES)("a change by another process counts within 5 s (%s)", (_name, open) => {
  test.for([
    ["with sessions in the database", false],
    ["with a copy of the session in the cookie", true],
  ] as const)("%s", async ([_case, cookieCache]) => {
    const fresh = await open();
    onTestFinished(fresh.drop);
    const start = async (migrate: boolean): Promise<Host> => {
      const { database, close } = fresh.connect();
      const host = await startHost({ ...FIELDS, database, migrate, cookieCache, flags });
      onTestFinished(async () => {
        await host.close();
        await close();
      });
      return host;
    };
    const writer = await start(true);
    const host = await start(false);
    const node = await wrapHost(host, { flags });
    const user = await host.person("user");
    const { key } = await ruled(host, when("user.plan", "equals", "pro"));
    const answers = async () => {
      const plain = await host.evaluate({ flagKey: key }, user);
      const fast = await node.ask("evaluate", { flagKey: key }, user.headers);
      return [plain.json.value, fast.json["value"]];
    };
    await expect.poll(answers).toEqual(["no", "no"]);
    await setFields(writer, "user", user.id, { plan: "pro" });
    // A busy machine needs longer for the last request.
    await expect.poll(answers, { timeout: 8000, interval: 50 }).toEqual(["yes", "yes"]);
  });
});

test("with the option `postgres`, rows in use are read again only after a change, and every change counts within 5 s", async () => {
  const clocks = moveClocks();
  const { connect, drop } = await freshPostgres();
  onTestFinished(drop);
  const { database, close } = connect();
  onTestFinished(close);
  const host = await startHost({ ...FIELDS, database, flags: { trusted: TRUSTED, postgres: database } });
  onTestFinished(host.close);
  const user = await host.person("user");
  const acme = await host.organization(user, "acme");
  const sessionId = await sessionOf(host, user);
  const keys: string[] = [];
  for (const attribute of ["user.plan", "session.channel", "organization.tier"])
    keys.push((await ruled(host, when(attribute, "equals", "new"))).key);
  const { adapter } = await host.auth.$context;
  const findMany = vi.spyOn(adapter, "findMany");
  const reads = () => findMany.mock.calls.filter(([{ select }]) => select?.length === 2).length;
  const answers = async () => {
    const { json } = await host.call("POST", "/feature-flags/evaluate-batch", {
      as: user,
      body: { flagKeys: keys },
    });
    return keys.map((key) => json.flags[key].value);
  };
  expect(await answers()).toEqual(["no", "no", "no"]);
  expect(reads()).toBe(3);
  for (let round = 0; round < 3; round++) {
    clocks.pass(5000);
    expect(await answers()).toEqual(["no", "no", "no"]);
  }
  expect(reads()).toBe(3);
  await database.query(`update "user" set plan = 'new' where id = $1`, [user.id]);
  await database.query(`update session set channel = 'new' where id = $1`, [sessionId]);
  await database.query(`update organization set tier = 'new' where id = $1`, [acme]);
  clocks.pass(5000);
  expect(await answers()).toEqual(["yes", "yes", "yes"]);
  expect(reads()).toBe(6);
});

test("sessions in secondary storage are read there", async () => {
  const stored = new Map<string, string>();
  const secondaryStorage = {
    get: async (key: string) => stored.get(key) ?? null,
    set: async (key: string, value: string) => void stored.set(key, value),
    delete: async (key: string) => void stored.delete(key),
    getAndDelete: async (key: string) => {
      const value = stored.get(key) ?? null;
      stored.delete(key);
      return value;
    },
    increment: async (key: string) => {
      const count = Number(stored.get(key) ?? 0) + 1;
      stored.set(key, String(count));
      return count;
    },
  };
  const { host, node } = await setUp({ secondaryStorage });
  const user = await host.person("user");
  const { key } = await ruled(host, when("session.channel", "equals", "partner"));
  const answerFor = async () => (await node.ask("evaluate", { flagKey: key }, user.headers)).json["value"];
  expect(await answerFor()).toBe("no");
  const token = (await host.call("GET", "/get-session", { as: user })).json.session.token;
  const { internalAdapter } = await node.auth.$context;
  await internalAdapter.updateSession(token, { channel: "partner" });
  await expect.poll(answerFor, { timeout: 8000 }).toBe("yes");
});

test("ids that are numbers or UUIDs are looked up, and others do not fail", async () => {
  // With `false`, the database makes the ids, and only it knows their form.
  for (const generateId of ["uuid", "serial", false] as const) {
    const fresh = await freshPostgres();
    onTestFinished(fresh.drop);
    const { database, close } = fresh.connect();
    onTestFinished(close);
    const options = (form: typeof generateId) =>
      ({
        baseURL: "http://localhost",
        secret: "a secret that is only good enough for tests, which is all it does",
        database,
        advanced: { database: { generateId: form } },
        emailAndPassword: { enabled: true },
        logger: { disabled: true },
        user: {
          additionalFields: { plan: { type: "string", required: false, input: false, defaultValue: "pro" } },
        },
        plugins: [featureFlags({ trusted: { user: ["plan"] } })],
      }) satisfies BetterAuthOptions;
    await (await getMigrations(options(generateId || "uuid"))).runMigrations();
    const auth = withFeatureFlags(betterAuth(options(generateId)));
    const body = { email: "a@example.com", password: "correct horse battery", name: "A" };
    const { user } = await auth.api.signUpEmail({ body });
    const flag = await auth.api.createFeatureFlag({
      body: { key: "k", name: "N", type: "string", enabled: true, defaultValue: "no" },
    });
    const conditions = when("user.plan", "equals", "pro");
    await auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, conditions, value: "yes" },
    });
    const ask = async (userId: string) =>
      (await auth.api.evaluateFeatureFlag({ body: { flagKey: "k", context: { userId } } })).value;
    // One after the other, so that the failure of one would concern the next; then all in one query.
    const others = ["ada", "\0", "999999", "99999999999"];
    for (const userId of others) expect(await ask(userId), userId).toBe("no");
    expect(await ask(user.id), `generateId: ${generateId}`).toBe("yes");
    const another = await auth.api.signUpEmail({ body: { ...body, email: "b@example.com" } });
    const asked = await Promise.all([...others.map((id) => `${id}0`), another.user.id].map(ask));
    expect(asked).toEqual(["no", "no", "no", "no", "yes"]);
  }
});
