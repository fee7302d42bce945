/** A page whose user changes while its connection, which keeps the session it was opened with, stays open. */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { PASSWORD, type Person } from "../host.ts";
import { memoryDatabase, newKey } from "../memory-host.ts";
import { type LiveHost, livePage, type Page, SOON, startLive } from "./kit.ts";

const NOBODY = { headers: {} };

describe("guide/flags-live: Share the connection of your application", () => {
  let host: LiveHost;
  let ann: Person;
  let bob: Person;
  /** A flag that has another value for each user. */
  let flag: { id: string; key: string };

  beforeEach(async () => {
    host = await startLive({ database: memoryDatabase() }, { anonymous: true });
    [ann, bob] = [await host.person("ann"), await host.person("bob")];
    flag = await host.auth.api.createFeatureFlag({
      body: { key: newKey("who"), name: "N", type: "string", enabled: true, defaultValue: "nobody" },
    });
    for (const { id } of [ann, bob])
      await host.auth.api.createFeatureFlagOverride({ body: { flagId: flag.id, userId: id, value: id } });
  });

  const signIn = (page: Page, { email }: Person) =>
    page.client.signIn.email({ email, password: PASSWORD }).then(({ error }) => expect(error).toBeNull());
  /** Changes another flag, which pushes it to every connection. */
  async function push(): Promise<string> {
    const { key } = await host.auth.api.createFeatureFlag({
      body: { key: newKey("pushed"), name: "N", type: "string", enabled: true, defaultValue: "x" },
    });
    return key;
  }

  test("an anonymous visitor who signs in gets their own values pushed, without code of the application", async () => {
    const page = await livePage(host, NOBODY);
    await page.sees(flag.key, "nobody");
    await signIn(page, ann);
    await page.sees(flag.key, ann.id);
    await page.isLive();
    const requests = page.paths.length;
    const { overrides } = await host.auth.api.listFeatureFlagOverrides({ query: { flagId: flag.id } });
    const id = overrides.find(({ userId }) => userId === ann.id)?.id ?? "";
    await host.auth.api.deleteFeatureFlagOverride({ params: { id } });
    await page.sees(flag.key, "nobody");
    expect(page.paths.length).toBe(requests);
  });

  test("values of the anonymous visitor do not replace those of the user who has signed in", async () => {
    const page = await livePage(host, NOBODY);
    await signIn(page, ann);
    await page.sees(flag.key, ann.id);
    const before = page.told.length;
    // The connection of the anonymous visitor is still open.
    await push();
    await page.isLive();
    await page.sees(await push(), "x");
    expect(page.told.slice(before).filter(({ key }) => key === flag.key)).toEqual([]);
  });

  test("values of a user are never shown to another one who signs in on the same page", async () => {
    const page = await livePage(host, ann);
    await page.sees(flag.key, ann.id);
    const before = page.told.length;
    // The session of the first user stays valid.
    await signIn(page, bob);
    await page.sees(flag.key, bob.id);
    await push();
    await page.isLive();
    await page.sees(await push(), "x");
    expect(page.told.slice(before).map(({ value }) => value)).not.toContain(ann.id);
    expect(await page.flags.getValue(flag.key)).toBe(bob.id);
  });

  test("a connection that the application closed stays closed", async () => {
    const page = await livePage(host, NOBODY);
    await page.wire.close();
    await signIn(page, ann);
    await page.sees(flag.key, ann.id);
    expect(page.wire.state).toBe("closed");
  });
});

describe("a connection that never gets the session of the page", () => {
  test("is opened again once, and then the page polls", async () => {
    const host = await startLive({ database: memoryDatabase() }, { anonymous: true });
    const ann = await host.person("ann");
    const page = await livePage(host, NOBODY, { socketHeaders: {} });
    let opened = 0;
    page.wire.onState((state) => {
      if (state === "open") opened += 1;
    });
    await page.client.signIn.email({ email: ann.email, password: PASSWORD });
    await vi.waitFor(() => expect(page.subscription.state).toBe("polling"), SOON);
    expect(opened).toBe(1);
  });
});
