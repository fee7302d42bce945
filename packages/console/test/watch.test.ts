/** Checks that the socket of live flags tells consoles of changes, and only those that may read the flags. */
import { Changed, Watch } from "@halyard/flags/live";
import { wsClient } from "@halyard/wire/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { Person } from "../../flags/test/host.ts";
import { type LiveHost, startLive } from "../../flags/test/live/kit.ts";
import { memoryDatabase } from "../../flags/test/memory-host.ts";
import { type ConsoleHost, mountConsole } from "./console-host.ts";

const SOON = { timeout: 4000, interval: 5 };
const flag = (fields: object = {}) => ({ key: "k", name: "N", type: "boolean", ...fields });

async function connect(host: LiveHost, person?: Person) {
  const told: number[] = [];
  const client = wsClient({
    url: host.liveUrl,
    wsFactory: (url, protocols) =>
      new WebSocket(url, protocols, {
        headers: { ...person?.headers },
        origin: host.liveUrl.replace("ws:", "http:").replace(/\/$/, ""),
      }),
  });
  client.onError(() => undefined);
  client.on(Changed, ({ revision }) => void told.push(revision));
  onTestFinished(() => client.close());
  await client.connect();
  return { told, watch: (token: string) => client.request(Watch, { token }) };
}

async function tokenOf(console_: ConsoleHost, person: Person, organizationId?: string): Promise<string> {
  const body = { watch: true, ...(organizationId !== undefined && { organizationId }) };
  return (await console_.own("revision", body, person)).json.watchToken;
}

describe("guide/console: Changes of other people", () => {
  test("a console is told of every change of the flags that it shows, and of no others", async () => {
    const host = await startLive({ database: memoryDatabase(), flags: { multiTenant: true } });
    const console_ = mountConsole(host);
    const [ada, bob] = [await host.person("ada"), await host.person("bob")];
    const [acme, globex] = [await host.organization(ada, "acme"), await host.organization(bob, "globex")];
    const { told, watch } = await connect(host, ada);
    const { payload } = await watch(await tokenOf(console_, ada, acme));
    await host.createFlag(flag({ organizationId: globex }), bob);
    // The flag is off, so no user gets another value.
    await host.createFlag(flag({ organizationId: acme }), ada);
    await vi.waitFor(() => expect(told).toEqual([payload.revision + 1]), SOON);
  });

  test("a token is valid for its own user only, and for the connections of that user", async () => {
    const host = await startLive({ database: memoryDatabase() });
    const console_ = mountConsole(host);
    const [admin, user] = [await host.person("admin", "admin"), await host.person("user")];
    const token = await tokenOf(console_, admin);
    const denied = { code: "PERMISSION_DENIED" };
    const ofUser = await connect(host, user);
    await expect(ofUser.watch(token)).rejects.toMatchObject(denied);
    const ofAdmin = await connect(host, admin);
    await expect(ofAdmin.watch(`${token.slice(0, -1)}_`)).rejects.toMatchObject(denied);
    await expect(ofAdmin.watch("")).rejects.toMatchObject(denied);
    await host.createFlag(flag(), admin);
    await ofAdmin.watch(token);
    await host.createFlag(flag({ key: "second" }), admin);
    await vi.waitFor(() => expect(ofAdmin.told).toHaveLength(1), SOON);
    expect(ofUser.told).toEqual([]);
  });

  test("a token ends after two minutes, so that a user who lost the permission learns nothing more", async () => {
    const host = await startLive({ database: memoryDatabase() });
    const console_ = mountConsole(host);
    const admin = await host.person("admin", "admin");
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(now - 121_000);
    onTestFinished(() => clock.mockRestore());
    const token = await tokenOf(console_, admin);
    clock.mockRestore();
    const { watch } = await connect(host, admin);
    await expect(watch(token)).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  });

  test("a user who may not read the flags gets no token", async () => {
    const host = await startLive({ database: memoryDatabase() });
    const console_ = mountConsole(host);
    const user = await host.person("user");
    const refused = await console_.own("revision", { watch: true }, user);
    expect([refused.status, refused.json.watchToken]).toEqual([403, undefined]);
  });
});
