/** Checks that changes reach remote processes, on real databases. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { freshPostgres, freshSqlite } from "../databases.ts";
import { type Host, startHost } from "../host.ts";
import { flag, newKey } from "../memory-host.ts";
import { newAdmin, newApiKey, nextChange, recordsIn, serveDefinitions, startRemote } from "./kit.ts";

describe.each([
  ["SQLite", freshSqlite],
  ["PostgreSQL", freshPostgres],
] as const)("guide/flags-remote: Changes on %s", (_name, freshDatabase) => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let host: Host;
  let other: Host;
  let key: string;
  const closers: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    database = await freshDatabase();
    const connections = [database.connect(), database.connect()] as const;
    host = await startHost({ database: connections[0].database, bounds: { pollMs: 50 } });
    other = await startHost({ database: connections[1].database, bounds: { pollMs: 50 }, migrate: false });
    closers.push(host.close, other.close, ...connections.map(({ close }) => close));
    key = (await newApiKey(host, { userId: (await newAdmin(host)).id })).key;
  });
  afterAll(async () => {
    for (const close of closers) await close();
    await database.drop();
  });

  test("a change reaches the process, and its evaluations make no request", async () => {
    const { url } = await serveDefinitions(host.auth);
    const name = newKey();
    const { id } = await host.auth.api.createFeatureFlag({
      body: flag({ key: name, type: "boolean", enabled: true, defaultValue: true, offValue: false }),
    });
    const remote = startRemote({ url, key });
    await remote.flags.ready;
    expect(remote.flags.isEnabled(name)).toBe(true);
    const changed = nextChange(remote);
    await host.auth.api.updateFeatureFlag({ body: { id, enabled: false } });
    expect(await changed).toEqual([name]);
    expect(remote.flags.isEnabled(name)).toBe(false);
    const sent = remote.sent.length;
    for (let count = 0; count < 10_000; count++) {
      remote.flags.evaluate(name, { context: { userId: `user-${count}` } });
    }
    expect([remote.sockets(), remote.sent.length]).toEqual([1, sent]);
  });

  test("a change by another process of the server reaches it too", async () => {
    const { url } = await serveDefinitions(host.auth);
    const name = newKey();
    const remote = startRemote({ url, key });
    await remote.flags.ready;
    const changed = nextChange(remote);
    await other.auth.api.createFeatureFlag({ body: flag({ key: name, enabled: true, defaultValue: "v" }) });
    expect(await changed).toEqual([name]);
    expect(remote.flags.getValue(name)).toBe("v");
  });

  test("a process that reconnects to a server that has not read a change yet does not go back", async () => {
    const connected = database.connect();
    const late = await startHost({
      database: connected.database,
      // It reads a change only when it must.
      bounds: { pollMs: 600_000 },
      migrate: false,
    });
    onTestFinished(async () => {
      await late.close();
      await connected.close();
    });
    const name = newKey();
    await host.auth.api.createFeatureFlag({ body: flag({ key: name, enabled: true, defaultValue: "1" }) });
    const [current, behind] = [await serveDefinitions(host.auth), await serveDefinitions(late.auth)];
    const before = startRemote({ url: behind.url, key });
    await before.flags.ready;
    expect(before.flags.getValue(name)).toBe("1");
    let target = current.url;
    const sockets: WebSocket[] = [];
    const remote = startRemote({
      url: current.url,
      key,
      wsFactory(_url, protocols) {
        const socket = new WebSocket(target, protocols);
        sockets.push(socket);
        return socket;
      },
    });
    await remote.flags.ready;
    const seen: unknown[] = [];
    remote.flags.onChange(() => seen.push(remote.flags.getValue(name)));
    const { id } = await host.auth.api.getFeatureFlag({ params: { id: `key:${name}` } });
    await host.auth.api.updateFeatureFlag({ body: { id, defaultValue: "2" } });
    await expect.poll(() => remote.flags.getValue(name)).toBe("2");
    target = behind.url;
    sockets[0]?.terminate();
    // A second socket is opened only while the state is stale, which may be over before it is looked at.
    await expect.poll(() => [sockets.length, remote.flags.state]).toEqual([2, "live"]);
    expect([...new Set(seen)]).toEqual(["2"]);
  });

  test("after a lost connection it gets only what changed meanwhile", async () => {
    const { url } = await serveDefinitions(host.auth);
    const [kept, moved] = [newKey(), newKey()];
    for (const one of [kept, moved]) {
      await host.auth.api.createFeatureFlag({ body: flag({ key: one, enabled: true, defaultValue: "1" }) });
    }
    const remote = startRemote({ url, key, reconnect: { initialDelayMs: 300, jitter: "none" } });
    await remote.flags.ready;
    remote.frames.length = 0;
    remote.cut();
    await expect.poll(() => remote.flags.state).toBe("stale");
    const changed = nextChange(remote);
    const { id } = await host.auth.api.getFeatureFlag({ params: { id: `key:${moved}` } });
    await host.auth.api.updateFeatureFlag({ body: { id, defaultValue: "2" } });
    expect(await changed).toEqual([moved]);
    expect([remote.flags.getValue(moved), remote.flags.state]).toEqual(["2", "live"]);
    expect(recordsIn(remote.frames).map(([kind, name]) => [kind, name])).toEqual([["f", moved]]);
  });

  test("after a restart of the server it continues, and an unchanged set is not sent again", async () => {
    const first = await serveDefinitions(host.auth);
    await host.auth.api.createFeatureFlag({ body: flag({ key: newKey() }) });
    const remote = startRemote({ url: first.url, key });
    await remote.flags.ready;
    remote.frames.length = 0;
    await first.stop();
    await expect.poll(() => remote.flags.state).toBe("stale");
    await serveDefinitions(other.auth, first.port);
    await expect.poll(() => remote.flags.state).toBe("live");
    expect(recordsIn(remote.frames)).toEqual([]);
    const changed = nextChange(remote);
    const name = newKey();
    await host.auth.api.createFeatureFlag({
      body: flag({ key: name, enabled: true, defaultValue: "after" }),
    });
    expect(await changed).toEqual([name]);
    expect(remote.flags.getValue(name)).toBe("after");
  });

  test("overrides, rules and segments change without sending other flags again", async () => {
    const { url } = await serveDefinitions(host.auth);
    const { api } = host.auth;
    const [name, segment] = [newKey(), newKey("segment")];
    const { id } = await api.createFeatureFlag({
      body: flag({ key: name, enabled: true, defaultValue: "d" }),
    });
    const remote = startRemote({ url, key });
    await remote.flags.ready;
    const value = () => remote.flags.getValue(name, { context: { userId: "ada", role: "vip" } });
    const after = async (change: () => Promise<unknown>) => {
      remote.frames.length = 0;
      const changed = nextChange(remote);
      await change();
      expect(await changed).toEqual([name]);
      return recordsIn(remote.frames).map(([kind]) => kind);
    };
    const { id: segmentId } = await api.createFeatureFlagSegment({
      body: {
        key: segment,
        conditions: { conditions: [{ attribute: "role", operator: "equals", value: "vip" }] },
      },
    });
    expect(
      await after(() =>
        api.createFeatureFlagRule({
          body: { flagId: id, priority: 1, conditions: { conditions: [{ segment }] }, value: "rule" },
        }),
      ),
    ).toEqual(["f", "s"]);
    expect(value()).toBe("rule");
    const conditions = { conditions: [{ attribute: "role", operator: "equals" as const, value: "other" }] };
    expect(await after(() => api.updateFeatureFlagSegment({ body: { id: segmentId, conditions } }))).toEqual([
      "s",
    ]);
    expect(value()).toBe("d");
    const override = await (async () => {
      let made: { id: string } | undefined;
      expect(
        await after(async () => {
          made = await api.createFeatureFlagOverride({ body: { flagId: id, userId: "ada", value: "hers" } });
        }),
      ).toEqual(["o"]);
      return made;
    })();
    expect(value()).toBe("hers");
    expect(await after(() => api.deleteFeatureFlagOverride({ params: { id: override?.id ?? "" } }))).toEqual([
      "o",
    ]);
    expect(value()).toBe("d");
    expect(await after(() => api.deleteFeatureFlag({ params: { id } }))).toEqual(["f", "s"]);
    expect(remote.flags.evaluate(name)).toEqual({ value: null, reason: "not_found" });
  });
});
