/** Checks that the client returns the signed-in user's values and never those of the previous user. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Host, Person } from "../host.ts";
import { flag, suiteHost } from "../memory-host.ts";
import { BOOTSTRAP, bootstrapAnswer, createClient, gate, type Visitor } from "./kit.ts";

const PASSWORD = "correct horse battery";
let host: Host;
let ada: Person;
let bob: Person;
let acme: string;
let globex: string;

suiteHost({ flags: { multiTenant: true } }, async (started) => {
  host = started;
  ada = await host.person("ada");
  bob = await host.person("bob");
  acme = await host.organization(ada, "acme");
  globex = await host.organization(ada, "globex");
  const whose = await host.auth.api.createFeatureFlag({
    body: flag({ key: "whose", enabled: true, defaultValue: "nobody's", organizationId: "" }),
  });
  for (const [person, value] of [
    [ada, "ada's"],
    [bob, "bob's"],
  ] as const) {
    await host.auth.api.createFeatureFlagOverride({ body: { flagId: whose.id, userId: person.id, value } });
  }
  for (const [organizationId, value] of [
    [acme, "acme's"],
    [globex, "globex's"],
  ] as const) {
    await host.auth.api.createFeatureFlag({
      body: flag({ key: "organization", enabled: true, defaultValue: value, organizationId }),
    });
  }
});

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => vi.restoreAllMocks());

const signIn = (client: ReturnType<typeof createClient>["client"], { email }: Person) =>
  client.signIn.email({ email, password: PASSWORD });

describe("signing in and out", () => {
  test("changes the result of the next read", async () => {
    const { client, flags, visitor } = createClient(host.origin);
    expect(await flags.getValue("whose")).toBe("nobody's");
    await signIn(client, ada);
    expect(await flags.getValue("whose")).toBe("ada's");
    await client.signOut();
    visitor.headers = undefined;
    expect(await flags.getValue("whose")).toBe("nobody's");
    await signIn(client, bob);
    expect(await flags.getValue("whose")).toBe("bob's");
  });

  test("removes the old values from listeners before new ones arrive", async () => {
    const { client, flags, network } = createClient(host.origin, { visitor: { headers: ada.headers } });
    const values = flags.values();
    const seen: unknown[] = [];
    values.subscribe(() => seen.push(values.read("whose")?.value));
    await vi.waitFor(() => expect(values.read("whose")?.value).toBe("ada's"), 10_000);
    network.intercept = (path) => (path === "/sign-out" ? Response.json({ success: true }) : undefined);
    await client.signOut();
    expect(values.read("whose")).toBeUndefined();
    expect(values.status()).toBe("loading");
    await vi.waitFor(() => expect(values.status()).toBe("ready"), 10_000);
  });

  test("keeps an anonymous visitor's values on the page until new ones arrive, but not for reads", async () => {
    const { client, flags, network } = createClient(host.origin);
    const values = flags.values();
    const seen: unknown[] = [];
    values.subscribe(() => seen.push(values.read("whose")?.value));
    await vi.waitFor(() => expect(values.read("whose")?.value).toBe("nobody's"), 10_000);
    const held = gate();
    network.intercept = (path) =>
      path === BOOTSTRAP ? held.opened.then(() => bootstrapAnswer({ whose: "ada's" })) : undefined;
    await signIn(client, ada);
    const read = flags.getValue("whose");
    expect([values.read("whose")?.value, values.status()]).toEqual(["nobody's", "ready"]);
    held.open();
    expect(await read).toBe("ada's");
    expect(seen).toEqual(["nobody's", "ada's"]);
  });

  test("discards the response to a request of the previous user", async () => {
    const visitor: Visitor = { headers: ada.headers };
    const { client, flags, network } = createClient(host.origin, { visitor });
    const held = gate();
    let isFirst = true;
    network.intercept = (path) => {
      if (path === "/sign-out") return Response.json({ success: true });
      if (path !== BOOTSTRAP || !isFirst) return undefined;
      isFirst = false;
      return held.opened.then(() => bootstrapAnswer({ whose: "ada's" }, { userId: ada.id }));
    };
    const read = flags.getValue("whose");
    await client.signOut();
    visitor.headers = undefined;
    held.open();
    expect(await read).toBe("nobody's");
    expect(await flags.getValue("whose")).toBe("nobody's");
  });

  test("in another tab takes effect when the session is read", async () => {
    const visitor: Visitor = { headers: ada.headers };
    const { client, flags } = createClient(host.origin, { visitor });
    expect(await flags.getValue("whose")).toBe("ada's");
    visitor.headers = bob.headers;
    await client.getSession();
    expect(await flags.getValue("whose")).toBe("bob's");
  });

  test("causes one request, not one per read or signal, and an unchanged session causes none", async () => {
    const { client, flags, network } = createClient(host.origin);
    flags.values().subscribe(() => undefined);
    await flags.getValue("whose");
    await signIn(client, ada);
    await Promise.all([flags.getValue("whose"), flags.getValue("organization")]);
    // Better Auth signals a sign-in a second time shortly after.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await client.getSession();
    await client.getSession();
    expect(await flags.getValue("whose")).toBe("ada's");
    expect(network.count(BOOTSTRAP)).toBe(2);
  });

  test("does not affect a page that was rendered for the signed-in user", async () => {
    const bootstrap = {
      flags: { whose: { value: "ada's" } },
      evaluatedAt: "2026-01-01T00:00:00.000Z",
      context: { userId: ada.id },
    };
    const { client, flags, network } = createClient(host.origin, {
      visitor: { headers: ada.headers },
      bootstrap,
    });
    await client.getSession();
    expect(await flags.getValue("whose")).toBe("ada's");
    expect(network.count(BOOTSTRAP)).toBe(0);
  });
});

describe("changing the organization", () => {
  test("changes the values from the next read on", async () => {
    const visitor: Visitor = { headers: ada.headers };
    const { client, flags } = createClient(host.origin, { visitor });
    await client.$fetch("/organization/set-active", { method: "POST", body: { organizationId: acme } });
    expect(await flags.getValue("organization")).toBe("acme's");
    await client.$fetch("/organization/set-active", { method: "POST", body: { organizationId: globex } });
    expect(await flags.getValue("organization")).toBe("globex's");
  });

  test("in another tab takes effect when the session is read", async () => {
    const { client, flags } = createClient(host.origin, { visitor: { headers: ada.headers } });
    const activate = (organizationId: string) =>
      host.auth.api.setActiveOrganization({ body: { organizationId }, headers: new Headers(ada.headers) });
    await activate(acme);
    await client.getSession();
    expect(await flags.getValue("organization")).toBe("acme's");
    await activate(globex);
    await client.getSession();
    expect(await flags.getValue("organization")).toBe("globex's");
  });
});

describe("the context of the client", () => {
  test.for([
    ["another user's id", () => ({ userId: ada.id })],
    ["another user's email address", () => ({ email: ada.email })],
    ["another role", () => ({ role: "admin" })],
    ["an organization they do not belong to", () => ({ organizationId: acme })],
    ["a role in an organization", () => ({ attributes: { organizationRole: "owner" } })],
  ] as const)("gives a signed-in user who claims %s no values of that claim", async ([, contextOf]) => {
    const { flags } = createClient(host.origin, { visitor: { headers: bob.headers }, context: contextOf() });
    expect(await flags.getValue("whose", "default")).toBe("default");
    expect(await flags.getValue("organization", "default")).toBe("default");
    expect(await flags.bootstrap()).toEqual({});
    flags.setContext(undefined);
    expect(await flags.getValue("whose")).toBe("bob's");
  });

  test("discards the values of the previous context when it changes", async () => {
    const { flags, network } = createClient(host.origin, { context: { userId: ada.id } });
    expect(await flags.getValue("whose")).toBe("ada's");
    flags.setContext({ userId: bob.id });
    expect(flags.values().read("whose")).toBeUndefined();
    network.isDown = true;
    expect(await flags.getValue("whose", "default")).toBe("default");
  });
});
