/** What live flags do when a client leaves early, sends nonsense or asks too often, and when they are closed. */
import type { RateLimitStore } from "@halyard/flags";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { Person } from "../host.ts";
import { memoryDatabase, newKey } from "../memory-host.ts";
import { type LiveHost, livePage, SOON, startLive } from "./kit.ts";

/** A socket without a client, for frames that no client sends. */
async function openSocket(host: LiveHost, { headers }: Pick<Person, "headers">): Promise<WebSocket> {
  const origin = host.liveUrl.replace("ws:", "http:").replace(/\/$/, "");
  const socket = new WebSocket(host.liveUrl, "halyard.v1.json", { headers, origin });
  onTestFinished(() => socket.terminate());
  await new Promise((resolve, reject) => {
    socket.once("message", resolve);
    socket.once("error", reject);
  });
  return socket;
}

const subscribe = (payload: unknown) =>
  JSON.stringify({ type: "flags:subscribe", meta: { correlationId: "1" }, payload });

describe("guide/flags-live: Errors and troubleshooting", () => {
  test("a connection that is cut while its subscription waits leaves no subscription behind", async () => {
    let release = (): void => undefined;
    let waiting = 0;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const store: RateLimitStore = {
      async take(_bucket, tokens) {
        waiting += 1;
        await held;
        return { granted: tokens, resetMs: 60_000 };
      },
    };
    const host = await startLive({
      database: memoryDatabase(),
      rateLimit: { enabled: true },
      flags: { rateLimit: { store } },
    });
    const socket = await openSocket(host, await host.person("ann"));
    socket.send(subscribe({ id: 1 }));
    await vi.waitFor(() => expect(waiting).toBe(1), SOON);
    socket.terminate();
    await vi.waitFor(() => expect(host.connections()).toBe(0), SOON);
    release();
    await livePage(host, await host.person("bob"));
    expect(host.subscribers()).toBe(1);
  });

  test("a subscription that is not an object is refused, and nothing is logged", async () => {
    const logged: string[] = [];
    const host = await startLive({ database: memoryDatabase(), log: (message) => logged.push(message) });
    const socket = await openSocket(host, await host.person("ann"));
    // Better Auth says at its start that the tables do not exist yet.
    logged.length = 0;
    for (const payload of [null, 1, "text", [], {}]) {
      const answer = new Promise<string>((resolve) =>
        socket.once("message", (data) => resolve(String(data))),
      );
      socket.send(subscribe(payload));
      expect(JSON.parse(await answer)).toMatchObject({ payload: { code: "INVALID_ARGUMENT" } });
    }
    expect(logged).toEqual([]);
  });

  test("a page whose next subscription is refused for now says that it is not live", async () => {
    const host = await startLive({
      database: memoryDatabase(),
      rateLimit: { enabled: true },
      // The first request for all flags, the page's own, and its first subscription.
      flags: { rateLimit: { rules: { bootstrap: { max: 3, windowSeconds: 60 } } } },
    });
    const page = await livePage(host, await host.person("ann"));
    page.flags.setContext({ attributes: { plan: "pro" } });
    await vi.waitFor(() => expect(page.text()).toContain("RESOURCE_EXHAUSTED"), SOON);
    expect(page.subscription.state).not.toBe("live");
  });

  test("anonymous connections from one address have the limit of one address", async () => {
    const host = await startLive(
      {
        database: memoryDatabase(),
        rateLimit: { enabled: true },
        flags: { rateLimit: { rules: { "bootstrap-anonymous": { max: 3, windowSeconds: 60 } } } },
      },
      { anonymous: true },
    );
    const answered = async (address: string) => {
      const socket = await openSocket(host, { headers: { "x-forwarded-for": address } });
      const answer = new Promise<{ payload?: { code?: string } }>((resolve) => {
        socket.on("message", (data) => {
          const frame = JSON.parse(String(data));
          if (frame.meta?.correlationId === "1") resolve(frame);
        });
      });
      socket.send(subscribe({ id: 1 }));
      return (await answer).payload?.code ?? "subscribed";
    };
    const answers: string[] = [];
    for (let at = 0; at < 5; at++) answers.push(await answered("203.0.113.7"));
    const [yes, no] = ["subscribed", "RESOURCE_EXHAUSTED"];
    expect(answers).toEqual([yes, yes, yes, no, no]);
    expect(await answered("203.0.113.8")).toBe(yes);
  });

  test("a page that claims an organization it has left keeps no value until its user is a member again", async () => {
    const host = await startLive({ database: memoryDatabase(), flags: { multiTenant: true } });
    const [owner, member] = [await host.person("owner"), await host.person("member")];
    const organizationId = await host.organization(owner, "acme");
    await host.join(member, organizationId);
    const key = newKey("org");
    await host.auth.api.createFeatureFlag({
      body: { key, name: "N", type: "string", enabled: true, defaultValue: "of acme", organizationId },
    });
    const page = await livePage(host, member);
    page.flags.setContext({ organizationId });
    await page.isLive();
    await page.sees(key, "of acme");
    await host.auth.api.removeMember({
      body: { memberIdOrEmail: member.email, organizationId },
      headers: new Headers(owner.headers),
    });
    await vi.waitFor(async () => expect(await page.flags.getValue(key, "none")).toBe("none"), SOON);
    await host.join(member, organizationId);
    await page.sees(key, "of acme");
  });

  test("after close() a new subscription is refused, so that no page waits for changes that do not come", async () => {
    const host = await startLive({ database: memoryDatabase() });
    const page = await livePage(host, await host.person("ann"));
    host.endLive();
    page.cut();
    await vi.waitFor(() => expect(page.text()).toContain("Live flags were closed"), SOON);
    expect(page.subscription.state).not.toBe("live");
    expect(host.subscribers()).toBe(0);
  });
});

test("guide/flags-plan: Options: without the option online, a plan counts the users that are subscribed to live flags", async () => {
  const host = await startLive({ database: memoryDatabase() });
  const flag = await host.auth.api.createFeatureFlag({
    body: {
      key: newKey("plan"),
      name: "N",
      type: "boolean",
      enabled: false,
      defaultValue: true,
      offValue: false,
    },
  });
  const people = [await host.person("ann"), await host.person("bob"), await host.person("cid")];
  const plan = () =>
    host.auth.api.planFeatureFlags({
      body: { changes: [{ flagKey: flag.key, fields: { enabled: true } }] },
    });
  expect(await plan()).toMatchObject({ onlineSource: "live", changes: [{ moved: 3, online: 0 }] });
  const [ann, bob] = people as [Person, Person];
  // Two windows of one user are one user.
  const pages = [await livePage(host, ann), await livePage(host, ann), await livePage(host, bob)];
  expect(await plan()).toMatchObject({ onlineSource: "live", changes: [{ moved: 3, online: 2 }] });
  for (const page of pages) await page.close();
  await vi.waitFor(async () => expect(await plan()).toMatchObject({ changes: [{ online: 0 }] }), SOON);
});
