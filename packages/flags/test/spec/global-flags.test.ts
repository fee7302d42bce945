/** Checks that an organization cannot replace a global flag, unless the flag permits it. */
import { describe, expect, test, vi } from "vitest";
import type { Host, Person } from "../host.ts";
import { memoryHost, newKey, suiteHost } from "../memory-host.ts";
import { wrapHost } from "../wrapped-host.ts";

let host: Host;
let owner: Person;
let member: Person;
let stranger: Person;
let acme: string;
suiteHost({ flags: { multiTenant: true } }, async (started) => {
  host = started;
  [owner, member, stranger] = [
    await host.person("owner"),
    await host.person("member"),
    await host.person("stranger"),
  ];
  acme = await host.organization(owner, "acme");
  await host.organization(stranger, "globex");
  await host.join(member, acme);
});

const body = (key: string, defaultValue: string, organizationId: string, fields: object = {}) => ({
  ...{ key, name: "N", type: "string" as const, enabled: true, defaultValue, organizationId },
  ...fields,
});
const make = (...fields: Parameters<typeof body>) =>
  host.auth.api.createFeatureFlag({ body: body(...fields) });
const valueFor = async (as: Person | undefined, flagKey: string) =>
  (await host.evaluate({ flagKey, default: "none" }, as)).json.value;

describe("guide/flags-tenants: Global flags", () => {
  test("an organization cannot create or rename a flag to a global key, unless that flag is tenantOverridable", async () => {
    const key = newKey("global");
    const global = await make(key, "vendor", "");
    const own = await make(newKey("own"), "mine", acme);
    const refused = await host.createFlag(body(key, "tenant", acme), owner);
    expect([refused.status, refused.json.code, refused.json.details]).toEqual([
      409,
      "VALIDATION_ERROR",
      { field: "key" },
    ]);
    expect(refused.json.message).toBe(
      `The key "${key}" belongs to a global flag that organizations cannot replace with their own. Choose another key, or ask an admin of the application to set tenantOverridable on the global flag.`,
    );
    const path = `/feature-flags/admin/flags/${own.id}`;
    expect((await host.call("PATCH", path, { as: owner, body: { key } })).status).toBe(409);
    await expect(make(key, "tenant", acme)).rejects.toMatchObject({ statusCode: 409 });
    expect(await valueFor(member, key)).toBe("vendor");

    await host.auth.api.updateFeatureFlag({ body: { id: global.id, tenantOverridable: true } });
    expect((await host.createFlag(body(key, "tenant", acme), owner)).status).toBe(201);
    expect([await valueFor(member, key), await valueFor(stranger, key)]).toEqual(["tenant", "vendor"]);
  });

  test("a global flag for server code is never replaced, and its key is refused with 409", async () => {
    const key = newKey("fraud");
    await make(key, "vendor", "", { visibility: "server" });
    const refused = await host.createFlag(body(key, "tenant", acme), owner);
    expect([refused.status, refused.json.details]).toEqual([409, { field: "key" }]);
    const context = { organizationId: acme };
    const { value } = await host.auth.api.evaluateFeatureFlag({ body: { flagKey: key, context } });
    expect(value).toBe("vendor");
    await expect(
      make(newKey(), "vendor", "", { visibility: "server", tenantOverridable: true }),
    ).rejects.toMatchObject({ statusCode: 400, body: { details: { field: "tenantOverridable" } } });
  });

  test("an organization's flag that a global flag reserves later is ignored everywhere, until the global one permits it", async () => {
    const key = newKey("shadow");
    const own = await make(key, "tenant", acme);
    const wrapped = await wrapHost(host, { flags: { multiTenant: true } });
    const all = { select: "value", prefix: key };
    const expectEverywhere = async (value: string) => {
      expect(await valueFor(member, key)).toBe(value);
      const ordinary = await host.request("/feature-flags/bootstrap", all, member.headers);
      expect(ordinary.json.flags).toEqual({ [key]: value });
      // The fast path is on another instance, which polls for the change.
      const expectFast = async () => {
        const fast = await wrapped.ask("bootstrap", all, member.headers);
        expect([fast.isFast, fast.json["flags"]]).toEqual([true, { [key]: value }]);
      };
      await vi.waitFor(expectFast, 5000);
    };
    await expectEverywhere("tenant");
    const global = await make(key, "vendor", "");
    await expectEverywhere("vendor");
    const explain = () => host.auth.api.explainFeatureFlag({ params: { id: own.id }, body: {} });
    expect(await explain()).toMatchObject({ result: { value: "tenant" }, ignored: true });
    await host.auth.api.updateFeatureFlag({ body: { id: global.id, tenantOverridable: true } });
    await expectEverywhere("tenant");
    expect(await explain()).not.toHaveProperty("ignored");
  });

  test("an ignored flag for the public does not stand in for a global flag that browsers cannot see", async () => {
    const key = newKey("hidden");
    await make(key, "tenant", acme);
    await make(key, "vendor", "", { visibility: "server" });
    expect(await valueFor(member, key)).toBe("none");
  });

  test("an event about an ignored flag is one about the global flag", async () => {
    const key = newKey("counted");
    await make(key, "tenant", acme);
    const { id } = await make(key, "vendor", "");
    const sent = await host.request(
      "/feature-flags/events",
      { flagKey: key, event: "click" },
      member.headers,
    );
    expect(sent.status).toBe(200);
    const stats = await host.auth.api.getFeatureFlagStats({ params: { id }, query: {} });
    expect(JSON.stringify(stats)).toContain("click");
  });

  test("health lists ignored flags: all of them for server calls, an organization's for its owner", async () => {
    const { auth, person, organization, call } = await memoryHost({ flags: { multiTenant: true } });
    const [first, second] = [await person("first"), await person("second")];
    const [one, two] = [await organization(first, "one"), await organization(second, "two")];
    const create = (...fields: Parameters<typeof body>) =>
      auth.api.createFeatureFlag({ body: body(...fields) });
    await create("k", "tenant", one);
    await create("k", "tenant", two);
    await create("free", "tenant", two);
    const ignored = async (as: Person) =>
      (await call("GET", "/feature-flags/health", { as })).json.ignoredFlags;
    expect([(await auth.api.getFeatureFlagsHealth()).ignoredFlags, await ignored(first)]).toEqual([[], []]);
    await create("k", "vendor", "");
    await create("free", "vendor", "", { tenantOverridable: true });
    expect((await auth.api.getFeatureFlagsHealth()).ignoredFlags).toEqual([
      { organizationId: one, key: "k" },
      { organizationId: two, key: "k" },
    ]);
    expect(await ignored(first)).toEqual([{ organizationId: one, key: "k" }]);
    expect((await call("GET", "/feature-flags/health")).json).not.toHaveProperty("ignoredFlags");
  });

  test("tenantOverridable needs the option multiTenant and a global flag", async () => {
    const { message } = await make(newKey(), "v", acme, { tenantOverridable: true }).catch((error) => error);
    expect(message).toMatch(
      /tenantOverridable is for global flags, and the flag "[^"]+" belongs to an organization/,
    );
    const { auth } = await memoryHost();
    const single = auth.api.createFeatureFlag({ body: body("k", "v", "", { tenantOverridable: true }) });
    await expect(single).rejects.toMatchObject({
      statusCode: 400,
      body: { message: expect.stringContaining("tenantOverridable: needs the option multiTenant") },
    });
    expect(await auth.api.getFeatureFlagsHealth()).not.toHaveProperty("ignoredFlags");
  });
});
