/** Checks that the fast path answers most requests itself, with the same bytes as Better Auth. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BothPaths, compare, type PathsOptions, startBothPaths } from "./both-paths.ts";
import { invite, type People, plant } from "./generated-requests.ts";
import { HOOKED } from "./hook-plugins.ts";
import { memoryHost } from "./memory-host.ts";
import { plantInOrganization } from "./organization-flags.ts";
import { inviteUnusual } from "./unusual-callers.ts";
import { wrapHost } from "./wrapped-host.ts";

const SEED = Number(process.env["HALYARD_SEED"] ?? Math.floor(Math.random() * 2 ** 32));

describe.each([
  ["one set of flags", { limit: 60 }],
  ["flags of organizations", { multiTenant: true }],
  ["sessions copied into cookies", { cookieCache: true }],
  ["20 plugins that have hooks", { plugins: HOOKED }],
  ["20 plugins that have hooks and flags of organizations", { plugins: HOOKED, multiTenant: true }],
])("with %s", (_name, options: PathsOptions) => {
  let paths: BothPaths;
  let people: People;
  let keys: string[];
  beforeAll(async () => {
    paths = await startBothPaths(options);
    people = await invite(paths.host);
    if (options.plugins !== undefined) people = await inviteUnusual(paths, people);
    keys = await plant(paths.host, people);
    if (options.multiTenant === true) keys.push(...(await plantInOrganization(paths, people)));
  });
  afterAll(() => paths.close());

  test("both paths answer generated requests with the same bytes", { timeout: 120_000 }, async () => {
    const { requests, byStatus } = await compare(paths, people, keys, { requests: 200, seed: SEED });
    expect(byStatus[200]).toBeGreaterThan(requests / 3);
    expect(byStatus[400]).toBeGreaterThan(0);
    // The fast path must answer most requests, or this would compare Better Auth with itself.
    expect(paths.passedOn()).toBeLessThan(requests * 0.7);
  });
});

test("an event whose sender cannot be looked up fails with the same code on both paths", async () => {
  const host = await memoryHost({ flags: { multiTenant: true } });
  const wrapped = await wrapHost(host, { flags: { multiTenant: true } });
  const ada = await host.person("ada");
  await host.organization(ada, "acme");
  const headers = { ...ada.headers, origin: host.origin };
  // Puts the user into the principal cache, without the membership.
  await wrapped.auth.handler(new Request(`${host.origin}/api/auth/feature-flags/metrics`, { headers }));
  host.db.exec("alter table member rename to elsewhere");
  const event = { flagKey: "k", event: "e" };
  const fast = await wrapped.ask("events", event, headers);
  const ordinary = await host.call("POST", "/feature-flags/events", { body: event, headers });
  expect([fast.isFast, fast.status, fast.json["code"]]).toEqual([true, 503, "STORAGE_ERROR"]);
  expect([ordinary.status, ordinary.json.code]).toEqual([503, "STORAGE_ERROR"]);
});

test("an event that describes its sender is answered without Better Auth, and one that names a user is not", async () => {
  const host = await memoryHost();
  const wrapped = await wrapHost(host);
  const { id, headers } = await host.person("ada");
  await wrapped.ask("evaluate", { flagKey: "k" }, headers);
  const send = async (context: object) => {
    const single = await wrapped.ask("events", { flagKey: "k", event: "e", context }, headers);
    const events = [{ flagKey: "k", event: "e", context }];
    const batch = await wrapped.ask("events/batch", { events }, headers);
    return [single.status, single.isFast, batch.status, batch.isFast];
  };
  for (const context of [{ anonymousId: "a" }, { attributes: { plan: "pro" } }, { geo: { country: "DE" } }]) {
    expect(await send(context)).toEqual([200, true, 200, true]);
  }
  expect(await send({ userId: id })).toEqual([200, false, 200, false]);
  expect(await send({ userId: "another" })).toEqual([403, false, 200, false]);
  expect(await send({ attributes: { organizationRole: "owner" } })).toEqual([403, false, 200, false]);
});
