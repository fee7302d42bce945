/** Live flags over real sockets: what each page is told, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { freshPostgres, freshSqlite } from "../databases.ts";
import { type HostOptions, PASSWORD, startHost } from "../host.ts";
import { newKey } from "../memory-host.ts";
import { type LiveHost, livePage, mountLive, SOON, startLive } from "./kit.ts";

const DATABASES = [
  ["SQLite", freshSqlite],
  ["PostgreSQL", freshPostgres],
] as const;

/** Changes of a flag, by the server's own code. */
function changesOf(host: LiveHost, organization: { organizationId?: string } = {}) {
  const { api } = host.auth;
  return {
    text: (defaultValue: string, fields: object = {}) =>
      api.createFeatureFlag({
        body: {
          key: newKey("live"),
          name: "N",
          type: "string",
          enabled: true,
          defaultValue,
          ...organization,
          ...fields,
        },
      }),
    set: (flag: { id: string }, defaultValue: unknown) =>
      api.updateFeatureFlag({ body: { id: flag.id, defaultValue: defaultValue as string } }),
    override: (flag: { id: string }, userId: string, value: string, fields: object = {}) =>
      api.createFeatureFlagOverride({ body: { flagId: flag.id, userId, value, ...fields } }),
  };
}

/** Flags that belong to no organization. */
const GLOBAL = { organizationId: "" };

describe.each(DATABASES)("live flags on %s", (_name, freshDatabase) => {
  let database: HostOptions["database"];
  const cleanUp: (() => Promise<unknown>)[] = [];
  let host: LiveHost;
  beforeAll(async () => {
    const db = await freshDatabase();
    const connected = db.connect();
    database = connected.database;
    const started = await startHost({ database, flags: { multiTenant: true } });
    host = await mountLive(started);
    cleanUp.push(host.stopLive, started.close, connected.close, db.drop);
  });
  afterAll(async () => {
    for (const step of cleanUp) await step();
  });
  let people = 0;
  const person = () => host.person(`${_name.toLowerCase()}-${++people}`);

  test("every read follows a change, without another request", async () => {
    const { text, set } = changesOf(host, GLOBAL);
    const flag = await text("one");
    const page = await livePage(host, await person());
    await page.sees(flag.key, "one");
    const requests = page.paths.length;
    await set(flag, "two");
    await page.sees(flag.key, "two");
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, enabled: false, defaultValue: "off" } });
    await page.sees(flag.key, "off");
    await host.auth.api.deleteFeatureFlag({ params: { id: flag.id } });
    await vi.waitFor(() => expect(page.told.at(-1)).toEqual({ type: "flag:deleted", key: flag.key }), SOON);
    expect(await page.flags.getValue(flag.key, "none")).toBe("none");
    expect(page.paths.length).toBe(requests);
  });

  test("a page is told only what changed for its own user", async () => {
    const { text, set, override } = changesOf(host, GLOBAL);
    const [one, two] = [await person(), await person()];
    const flag = await text("base", { description: "DESCRIPTION-CANARY" });
    const [first, second] = [await livePage(host, one), await livePage(host, two)];
    await override(flag, one.id, "only for one", { reason: "REASON-CANARY" });
    await first.sees(flag.key, "only for one");
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, name: "NAME-CANARY" } });
    const rule = {
      conditions: { conditions: [{ attribute: "plan", operator: "equals" as const, value: "RULE-CANARY" }] },
    };
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, value: "VALUE-CANARY", ...rule },
    });
    await set(flag, "for the rest");
    await second.sees(flag.key, "for the rest");
    expect(second.valuesTold(flag.key)).toEqual(["for the rest"]);
    expect(first.valuesTold(flag.key)).toEqual(["only for one"]);
    const framesOf = ({ frames }: typeof first) =>
      frames.filter((frame) => frame.includes('"flag:updated"') && frame.includes(`"${flag.key}"`));
    expect([framesOf(first).length, framesOf(second).length]).toEqual([1, 1]);
    expect(first.text() + second.text()).not.toContain("CANARY");
    expect(second.text()).not.toContain(one.id);
    expect(second.text()).not.toContain("only for one");
  });

  test("a change of a rule for one environment is sent only to pages of this environment", async () => {
    const { text, set } = changesOf(host, GLOBAL);
    const flag = await text("one");
    const user = await person();
    const [inBeta, elsewhere] = [
      await livePage(host, user, { environment: "beta" }),
      await livePage(host, user),
    ];
    const { id: ruleId } = await host.auth.api.createFeatureFlagRule({
      body: {
        flagId: flag.id,
        priority: 1,
        conditions: { conditions: [] },
        value: "beta's",
        environments: ["beta"],
      },
    });
    await inBeta.sees(flag.key, "beta's");
    await host.auth.api.updateFeatureFlagRule({ body: { flagId: flag.id, ruleId, environments: ["other"] } });
    await inBeta.sees(flag.key, "one");
    await set(flag, "two");
    await elsewhere.sees(flag.key, "two");
    expect(elsewhere.valuesTold(flag.key)).toEqual(["two"]);
  });

  test("a changed segment is told to the users whose answer changes", async () => {
    const { text } = changesOf(host, GLOBAL);
    const { api } = host.auth;
    const [one, two] = [await person(), await person()];
    const key = newKey("segment");
    const conditionsFor = (userId: string) => ({
      conditions: [{ attribute: "userId", operator: "equals" as const, value: userId }],
    });
    const segment = await api.createFeatureFlagSegment({
      body: { key, conditions: conditionsFor("nobody"), ...GLOBAL },
    });
    const flag = await text("out");
    await api.createFeatureFlagRule({
      body: { flagId: flag.id, priority: 1, value: "in", conditions: { conditions: [{ segment: key }] } },
    });
    const [first, second] = [await livePage(host, one), await livePage(host, two)];
    await api.updateFeatureFlagSegment({
      params: { id: segment.id },
      body: { conditions: conditionsFor(one.id) },
    });
    await first.sees(flag.key, "in");
    const marker = await text("marker");
    await second.sees(marker.key, "marker");
    expect(second.valuesTold(flag.key)).toEqual([]);
  });

  test("an override that expires is taken back at its time", async () => {
    const { text, override } = changesOf(host, GLOBAL);
    const user = await person();
    const flag = await text("base");
    const page = await livePage(host, user);
    const expiresAt = Date.now() + 700;
    await override(flag, user.id, "for a while", { expiresAt: new Date(expiresAt).toISOString() });
    await page.sees(flag.key, "for a while");
    const requests = page.paths.length;
    await page.sees(flag.key, "base");
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    expect(page.paths.length).toBe(requests);
  });

  test("a switch of the organization changes the values, and the organization that was left tells nothing more", async () => {
    const { text, set } = changesOf(host, GLOBAL);
    const owner = await person();
    const [a, b] = [await host.organization(owner, newKey("a")), await host.organization(owner, newKey("b"))];
    const key = newKey("org");
    const ofA = await text("of a", { key, organizationId: a });
    await text("of b", { key, organizationId: b });
    const page = await livePage(host, owner);
    await page.sees(key, "of b");
    const headers = new Headers(owner.headers);
    await host.auth.api.setActiveOrganization({ body: { organizationId: a }, headers });
    await page.sees(key, "of a");
    await host.auth.api.setActiveOrganization({ body: { organizationId: b }, headers });
    await page.sees(key, "of b");
    await set(ofA, "CANARY of a");
    const marker = await text("x", { organizationId: b });
    await page.sees(marker.key, "x");
    expect(page.text()).not.toContain("CANARY of a");
  });

  test("two sessions of one user with different organizations get only the values of their own", async () => {
    const { text, set, override } = changesOf(host, GLOBAL);
    const user = await person();
    const [a, b] = [await host.organization(user, newKey("a")), await host.organization(user, newKey("b"))];
    const { headers } = await host.auth.api.signInEmail({
      body: { email: user.email, password: PASSWORD },
      returnHeaders: true,
    });
    const cookie = headers.getSetCookie().map((line) => line.split(";", 1)[0]);
    const again = { ...user, headers: { cookie: cookie.join("; ") } };
    const activate = (organizationId: string) =>
      host.auth.api.setActiveOrganization({ body: { organizationId }, headers: new Headers(again.headers) });
    await activate(a);
    const key = newKey("org");
    const ofA = await text("of-a-1", { key, organizationId: a });
    const ofB = await text("of-b-1", { key, organizationId: b });
    const global = await text("for others");
    await host.auth.api.createFeatureFlagRule({
      body: {
        flagId: global.id,
        priority: 1,
        value: "of-a-rule",
        conditions: { conditions: [{ attribute: "organizationId", operator: "equals", value: a }] },
      },
    });
    const [inB, inA] = [await livePage(host, user), await livePage(host, again)];
    await inB.sees(key, "of-b-1");
    await inA.sees(key, "of-a-1");
    await inA.sees(global.key, "of-a-rule");
    await set(ofA, "of-a-2");
    await override(ofB, user.id, "of-b-2");
    await inA.sees(key, "of-a-2");
    await inB.sees(key, "of-b-2");
    expect(inB.text()).not.toContain("of-a");
    expect(inA.text()).not.toContain("of-b");
    await activate(b);
    await inA.sees(key, "of-b-2");
    await inA.sees(global.key, "for others");
    const frames = inA.frames.length;
    await set(ofA, "of-a-3");
    await inB.sees((await text("x", { organizationId: b })).key, "x");
    expect(inB.text() + inA.frames.slice(frames).join("\n")).not.toContain("of-a");
  });

  test("after a cut, a page gets what it missed and not the whole set", async () => {
    const { text, set, override } = changesOf(host, GLOBAL);
    const user = await person();
    const still = await text("UNCHANGED");
    const [moving, gone, mine] = [await text("one"), await text("there"), await text("mine")];
    const page = await livePage(host, user);
    const [requests, frames] = [page.paths.length, page.frames.length];
    page.block();
    await set(moving, "two");
    await set(moving, "three");
    await host.auth.api.deleteFeatureFlag({ params: { id: gone.id } });
    await override(mine, user.id, "overridden");
    await vi.waitFor(() => expect(page.subscription.state).toBe("connecting"), SOON);
    page.unblock();
    await page.sees(moving.key, "three");
    await page.sees(mine.key, "overridden");
    expect(await page.flags.getValue(gone.key, "none")).toBe("none");
    expect(await page.flags.getValue(still.key)).toBe("UNCHANGED");
    expect(page.paths.length).toBe(requests);
    expect(page.frames.slice(frames).join("\n")).not.toContain("UNCHANGED");
  });

  test("after a restart of the server, a page gets what it missed and not the whole set", async () => {
    const options = { database, migrate: false, flags: { multiTenant: true } };
    const { text, set } = changesOf(host, GLOBAL);
    const [still, moving] = [await text("UNCHANGED"), await text("one")];
    const renamed = await text("renamed");
    const user = await person();
    const inSegment = await text("out");
    const conditionsFor = (userId: string) => ({
      conditions: [{ attribute: "userId", operator: "equals" as const, value: userId }],
    });
    const segment = await host.auth.api.createFeatureFlagSegment({
      body: { key: newKey("segment"), conditions: conditionsFor("nobody"), ...GLOBAL },
    });
    const conditions = { conditions: [{ segment: segment.key }] };
    await host.auth.api.createFeatureFlagRule({
      body: { flagId: inSegment.id, priority: 1, value: "in", conditions },
    });
    const first = await startLive(options);
    const page = await livePage(first, user);
    const frames = page.frames.length;
    page.block();
    await set(moving, "two");
    const key = newKey("renamed");
    await host.auth.api.updateFeatureFlag({ body: { id: renamed.id, key } });
    await host.auth.api.updateFeatureFlagSegment({
      params: { id: segment.id },
      body: { conditions: conditionsFor(user.id) },
    });
    const second = await startLive(options);
    Object.assign(first, { liveUrl: second.liveUrl });
    page.unblock();
    await page.sees(moving.key, "two");
    await page.sees(key, "renamed");
    await page.sees(inSegment.key, "in");
    expect(await page.flags.getValue(renamed.key, "none")).toBe("none");
    expect(await page.flags.getValue(still.key)).toBe("UNCHANGED");
    expect(page.frames.slice(frames).join("\n")).not.toContain("UNCHANGED");
  });

  test("a change by another process arrives", async () => {
    const { text } = changesOf(host, GLOBAL);
    const flag = await text("one");
    const page = await livePage(host, await person());
    await page.sees(flag.key, "one");
    const other = await startHost({ database, migrate: false, flags: { multiTenant: true } });
    onTestFinished(other.close);
    await other.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: "two" } });
    await page.sees(flag.key, "two");
  });
});

describe("a subscription", () => {
  let host: LiveHost;
  const cleanUp: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const db = await freshSqlite();
    const { database, close } = db.connect();
    const started = await startHost({ database });
    host = await mountLive(started);
    cleanUp.push(host.stopLive, started.close, close, db.drop);
  });
  afterAll(async () => {
    for (const step of cleanUp) await step();
  });

  test("takes at most 150 bytes for a boolean flag with a key of 20 characters", async () => {
    const key = newKey("k").padEnd(20, "x");
    const flag = await host.auth.api.createFeatureFlag({
      body: { key, name: "N", type: "boolean", enabled: true, defaultValue: false },
    });
    const page = await livePage(host, await host.person("bytes"));
    await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: true } });
    await page.sees(key, true);
    const frame = page.frames.findLast((one) => one.includes(key)) ?? "";
    expect(frame).toContain('"type":"flag:updated"');
    expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(150);
  });

  test("gives values that only increase, and the last one, over a cut", async () => {
    const flag = await host.auth.api.createFeatureFlag({
      body: { key: newKey("n"), name: "N", type: "number", enabled: true, defaultValue: 0 },
    });
    const page = await livePage(host, await host.person("increasing"));
    for (let value = 1; value <= 30; value++) {
      await host.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: value } });
      if (value === 15) page.cut();
    }
    await page.sees(flag.key, 30);
    const seen = page.valuesTold(flag.key) as number[];
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(30);
  });

  test("ends with close(): nothing is told after it, reads keep what they know, the connection stays open", async () => {
    const { text, set } = changesOf(host);
    const flag = await text("one");
    const [page, other] = [
      await livePage(host, await host.person("closing")),
      await livePage(host, await host.person("staying")),
    ];
    const before = host.subscribers();
    page.subscription.close();
    await vi.waitFor(() => expect(host.subscribers()).toBe(before - 1), SOON);
    const [told, frames] = [page.told.length, page.frames.length];
    await set(flag, "two");
    await other.sees(flag.key, "two");
    expect([page.told.length, page.frames.length]).toEqual([told, frames]);
    expect(await page.flags.getValue(flag.key)).toBe("one");
    expect([page.subscription.state, page.wire.state]).toEqual(["closed", "open"]);
  });

  test("lets newer pages count again after close()", async () => {
    const { text, set } = changesOf(host);
    const flag = await text("one");
    const user = await host.person("rendered");
    const page = await livePage(host, user);
    await set(flag, "two");
    await page.sees(flag.key, "two");
    const rendered = () =>
      host.auth.api.bootstrapFeatureFlags({ body: { position: "0" }, headers: new Headers(user.headers) });
    const old = await rendered();
    page.subscription.close();
    await set(flag, "three");
    page.flags.values().hydrate(await rendered());
    expect(await page.flags.getValue(flag.key)).toBe("three");
    page.flags.values().hydrate(old);
    expect(await page.flags.getValue(flag.key)).toBe("three");
  });

  test("that begins again after close() follows the first change", async () => {
    const { text, set } = changesOf(host);
    const flag = await text("one");
    const page = await livePage(host, await host.person("again"));
    for (const value of ["two", "three", "four"]) {
      await set(flag, value);
      await page.sees(flag.key, value);
    }
    page.subscription.close();
    const again = page.flags.subscribe();
    await vi.waitFor(() => expect(again.state).toBe("live"), SOON);
    const requests = page.paths.length;
    await set(flag, "five");
    await page.sees(flag.key, "five");
    expect(page.paths.length).toBe(requests);
    again.close();
  });

  test("ends with the session, and nothing is told after it", async () => {
    const { text, set } = changesOf(host);
    const flag = await text("before");
    const user = await host.person("leaving");
    const [page, other] = [await livePage(host, user), await livePage(host, await host.person("watching"))];
    await page.sees(flag.key, "before");
    await host.call("POST", "/sign-out", { as: user, body: {} });
    await vi.waitFor(() => expect([page.wire.state, page.wire.session]).toEqual(["closed", "lost"]), SOON);
    await set(flag, "AFTER");
    await other.sees(flag.key, "AFTER");
    expect(page.text()).not.toContain("AFTER");
  });

  test("follows the user's role", async () => {
    const { text } = changesOf(host);
    const flag = await text("for users");
    await host.auth.api.createFeatureFlagRule({
      body: {
        flagId: flag.id,
        priority: 1,
        value: "for admins",
        conditions: { conditions: [{ attribute: "role", operator: "equals", value: "admin" }] },
      },
    });
    const [admin, user] = [await host.person("boss", "admin"), await host.person("promoted")];
    const page = await livePage(host, user);
    await page.sees(flag.key, "for users");
    const headers = new Headers(admin.headers);
    await host.auth.api.setRole({ body: { userId: user.id, role: "admin" }, headers });
    await page.sees(flag.key, "for admins");
  });

  test("follows the context that the page sets", async () => {
    const { text, set } = changesOf(host);
    const flag = await text("free");
    await host.auth.api.createFeatureFlagRule({
      body: {
        flagId: flag.id,
        priority: 1,
        value: "pro",
        conditions: { conditions: [{ attribute: "plan", operator: "equals", value: "pro" }] },
      },
    });
    const page = await livePage(host, await host.person("contextual"));
    await page.sees(flag.key, "free");
    page.flags.setContext({ attributes: { plan: "pro" } });
    await page.sees(flag.key, "pro");
    const other = await text("x");
    await set(other, "y");
    await page.sees(other.key, "y");
    await page.sees(flag.key, "pro");
  });

  test("with a context over 4 KiB, or of another user, is refused, and the page polls", async () => {
    const page = await livePage(host, await host.person("large"));
    for (const context of [{ attributes: { text: "x".repeat(4100) } }, { userId: "somebody else" }]) {
      page.flags.setContext(context);
      await vi.waitFor(() => expect(page.subscription.state).toBe("polling"), SOON);
      page.flags.setContext(undefined);
      await page.isLive();
    }
  });

  test("brings new exposure tokens with new arms", async () => {
    const { api } = host.auth;
    const variants = [
      { key: "a", weight: 100, value: "A" },
      { key: "b", weight: 0, value: "B" },
    ];
    const flag = await api.createFeatureFlag({
      body: { key: newKey("arms"), name: "N", type: "string", enabled: true, defaultValue: "A", variants },
    });
    const pages = [
      await livePage(host, await host.person("exposed"), { exposures: true }),
      await livePage(host, await host.person("exposed-too"), { exposures: true }),
    ];
    // A page without tokens gets the same value.
    const other = await livePage(host, await host.person("unexposed"));
    for (const page of pages) expect(await page.flags.getVariant(flag.key)).toBe("a");
    const [first, second] = variants as [(typeof variants)[0], (typeof variants)[0]];
    await api.updateFeatureFlag({
      body: {
        id: flag.id,
        variants: [
          { ...first, weight: 0 },
          { ...second, weight: 100 },
        ],
      },
    });
    const tokenOf = async (page: (typeof pages)[0]) => {
      await vi.waitFor(async () => expect(await page.flags.getVariant(flag.key)).toBe("b"), SOON);
      return JSON.parse(page.frames.findLast((one) => one.includes(flag.key)) ?? "").payload.token;
    };
    const tokens = await Promise.all(pages.map(tokenOf));
    expect(new Set(tokens).size).toBe(2);
    expect(await tokenOf(other)).toBeUndefined();
    const answer = await host.request("/feature-flags/exposures", { exposures: tokens });
    expect(answer.json).toEqual({ success: 2, failed: 0 });
  });
});
