/** Checks `makeFeatureFlagAdmin`, on SQLite and PostgreSQL. */
import { featureFlags, makeFeatureFlagAdmin } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshPostgres, freshSqlite } from "./databases.ts";
import { type Host, startHost } from "./host.ts";
import { memoryDatabase } from "./memory-host.ts";

describe.each([
  ["SQLite", freshSqlite],
  ["PostgreSQL", freshPostgres],
] as const)("makeFeatureFlagAdmin on %s", (_name, fresh) => {
  let host: Host;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const made = await fresh();
    const { database, close } = made.connect();
    host = await startHost({ database });
    stop = async () => {
      await host.close();
      await close();
      await made.drop();
    };
  });
  afterAll(() => stop());
  const statusFor = async (headers: Record<string, string>) =>
    (await host.call("GET", "/feature-flags/admin/flags", { headers })).status;

  test("lets a user administer flags at once, in the session that the user has", async () => {
    const ada = await host.person("ada");
    expect(await statusFor(ada.headers)).toBe(403);
    await makeFeatureFlagAdmin(host.auth, "Ada@Example.com");
    expect(await statusFor(ada.headers)).toBe(200);
    await makeFeatureFlagAdmin(host.auth, ada.email);
    const { users } = await host.auth.api.listUsers({ query: {}, headers: new Headers(ada.headers) });
    expect(users.find(({ id }) => id === ada.id)?.role).toBe("admin");
  });

  test("keeps the other roles of a user", async () => {
    const bob = await host.person("bob", "support,auditor");
    await makeFeatureFlagAdmin(host.auth, bob.email);
    const context = await host.auth.$context;
    const user = await context.internalAdapter.findUserById(bob.id);
    expect(user).toMatchObject({ role: "support,auditor,admin" });
    expect(await statusFor(bob.headers)).toBe(200);
  });

  test("names the email that no user has", async () => {
    await expect(makeFeatureFlagAdmin(host.auth, "missing@example.com")).rejects.toThrow(
      'makeFeatureFlagAdmin: no user has the email "missing@example.com". Sign up with it first, or check its spelling.',
    );
  });
});

test("makeFeatureFlagAdmin without the admin plugin says which plugin is missing", async () => {
  const auth = betterAuth({
    baseURL: "http://localhost:3000",
    database: memoryDatabase(),
    secret: "a secret that is only good enough for tests, which is all it does",
    logger: { disabled: true },
    plugins: [featureFlags()],
  });
  await expect(makeFeatureFlagAdmin(auth, "ada@example.com")).rejects.toThrow(
    "makeFeatureFlagAdmin: the auth instance has no admin plugin. Add admin() of better-auth/plugins, and run the migration.",
  );
});
