/** Checks that a client never replaces its values with older ones, whichever process answers. */
import { describe, expect, test, vi } from "vitest";
import { type Host, startHost } from "../host.ts";
import { memoryHost } from "../memory-host.ts";
import { BOOTSTRAP, createClient, gate } from "./kit.ts";

/** Two processes on one database. The second one learns of changes only when it must. */
async function twoProcesses(options: { multiTenant?: boolean } = {}) {
  const first = await memoryHost({ flags: { ...options, poll: false } });
  const second = await startHost({
    database: first.db,
    migrate: false,
    flags: { ...options, poll: false },
  });
  const { close } = second;
  return { first, second, close };
}

/** A client whose requests go to the host that the test chooses. */
function clientOf(start: Host, headers?: Record<string, string>) {
  const made = createClient(start.origin, { exposures: false });
  let host = start;
  made.network.intercept = (path, init) =>
    fetch(`${host.origin}/api/auth${path}`, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init.headers)), origin: host.origin, ...headers },
    });
  return {
    ...made,
    switchTo(next: Host) {
      host = next;
    },
  };
}

const kill = { key: "kill", name: "K", type: "boolean" as const, enabled: true, defaultValue: true };

describe("behind a load balancer", () => {
  test("a client that has seen a change sees it from every process", async () => {
    const { first, second, close } = await twoProcesses();
    const flag = await first.auth.api.createFeatureFlag({ body: kill });
    const { flags, switchTo } = clientOf(second);
    await flags.bootstrap();
    for (const value of [false, true, false]) {
      await first.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: value } });
      switchTo(first);
      expect(await flags.bootstrap()).toEqual({ kill: value });
      switchTo(second);
      expect(await flags.bootstrap()).toEqual({ kill: value });
    }
    await close();
  });

  test("a flag that a client has seen deleted does not come back", async () => {
    const { first, second, close } = await twoProcesses();
    const flag = await first.auth.api.createFeatureFlag({ body: kill });
    const { flags, switchTo } = clientOf(second);
    await flags.bootstrap();
    await first.auth.api.deleteFeatureFlag({ body: { id: flag.id } });
    switchTo(first);
    expect(await flags.bootstrap()).toEqual({});
    switchTo(second);
    expect(await flags.bootstrap()).toEqual({});
    await close();
  });

  test("a visitor who signs in keeps what they have seen of the global flags", async () => {
    const { first, second, close } = await twoProcesses({ multiTenant: true });
    const person = await first.person("member");
    const organizationId = await first.organization(person, "acme");
    const flag = await first.auth.api.createFeatureFlag({ body: { ...kill, organizationId: "" } });
    // Many changes of the organization hide one missing change of the global flags in a sum.
    for (const key of ["a", "b", "c"]) {
      await first.auth.api.createFeatureFlag({ body: { ...kill, key, organizationId } });
    }
    const headers: Record<string, string> = {};
    const { flags, client, switchTo } = clientOf(second, headers);
    await second.call("POST", BOOTSTRAP, { as: person, body: {} });
    await first.auth.api.updateFeatureFlag({ body: { id: flag.id, defaultValue: false } });
    switchTo(first);
    expect(await flags.bootstrap()).toEqual({ kill: false });
    switchTo(second);
    Object.assign(headers, person.headers);
    await client.getSession();
    expect(await flags.bootstrap()).toEqual({ kill: false, a: true, b: true, c: true });
    await close();
  });
});

describe("a response with older flags", () => {
  const answer = (value: number, global: number, more: object = {}) =>
    Response.json({
      flags: { v: { value } },
      evaluatedAt: new Date().toISOString(),
      context: {},
      position: String(global),
      ...more,
    });

  test("that the server could not check does not replace the values", async () => {
    const { flags, network } = createClient("http://app.test", { exposures: false });
    network.intercept = () => answer(2, 2);
    await flags.bootstrap();
    network.intercept = () => answer(1, 1, { stale: true });
    expect(await flags.bootstrap()).toEqual({ v: 2 });
    expect(flags.values().status()).toBe("stale");
    network.intercept = () => answer(3, 3);
    expect(await flags.bootstrap()).toEqual({ v: 3 });
    expect(flags.values().status()).toBe("ready");
  });

  test("to a request that was sent before the newer response does not replace the values", async () => {
    const { flags, network } = createClient("http://app.test", { exposures: false });
    network.intercept = () => answer(1, 1);
    await flags.bootstrap();
    const late = gate();
    const answers = [async () => answer(2, 2), () => late.opened.then(() => answer(1, 1))];
    network.intercept = () => answers.shift()?.();
    const newer = flags.bootstrap();
    const older = flags.bootstrap();
    expect(await newer).toEqual({ v: 2 });
    late.open();
    expect(await older).toEqual({ v: 2 });
  });

  test("that the server has checked is used: its database was restored", async () => {
    const { flags, network } = createClient("http://app.test", { exposures: false });
    network.intercept = () => answer(2, 2);
    await flags.bootstrap();
    network.intercept = () => answer(1, 1);
    expect(await flags.bootstrap()).toEqual({ v: 1 });
  });

  test("is used while the client has no values for the user", async () => {
    const { flags, network } = createClient("http://app.test", { exposures: false });
    network.intercept = () => answer(2, 2);
    await flags.bootstrap();
    flags.setContext({ attributes: { plan: "pro" } });
    network.intercept = () => answer(1, 1, { stale: true });
    expect(await flags.bootstrap()).toEqual({ v: 1 });
    // Later requests still ask for the newest revision that the client has seen.
    await flags.bootstrap();
    expect(network.bodies.at(-1)).toMatchObject({ position: "2" });
  });

  test("in a page does not replace the values", async () => {
    const { flags, network } = createClient("http://app.test", { exposures: false });
    network.intercept = () => answer(2, 2);
    await flags.bootstrap();
    const evaluatedAt = new Date(Date.now() + 1000).toISOString();
    flags.values().hydrate({ flags: { v: { value: 1 } }, evaluatedAt, position: "1" });
    expect(flags.values().read("v")).toMatchObject({ value: 2 });
  });

  test("cannot break the client with a position that is invalid", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { first, close } = await twoProcesses();
    await first.auth.api.createFeatureFlag({ body: kill });
    const { flags } = clientOf(first);
    for (const position of [null, 1, {}, "", "-1", "x.y.z", "9".repeat(400)]) {
      const bootstrap = { flags: {}, evaluatedAt: new Date().toISOString(), position } as never;
      flags.values().hydrate(bootstrap);
      expect(await flags.bootstrap()).toEqual({ kill: true });
    }
    await close();
    vi.restoreAllMocks();
  });
});
