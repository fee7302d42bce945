/** Callers whose credentials Better Auth has verified before: they are recognized, and what changed since counts. */

import { createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { findCaller } from "@halyard/sessions";
import { type BetterAuthOptions, type BetterAuthPlugin, betterAuth } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { getMigrations } from "better-auth/db/migration";
import { bearer, customSession } from "better-auth/plugins";
import { describe, expect, onTestFinished, test } from "vitest";
import { createStore, type Host, STORES, startAuth } from "./host.ts";

/** The instance, which counts how often Better Auth verifies credentials. */
function counted({ auth }: Pick<Host, "auth">) {
  const calls = { count: 0 };
  const api = new Proxy(auth.api, {
    get(target, name) {
      if (name === "getSession") calls.count += 1;
      return Reflect.get(target, name);
    },
  });
  return { calls, instance: { $context: auth.$context, api } };
}

describe.each(STORES)("guide/sessions: callers that come back ($name)", (options) => {
  test("are found without a verification, by their cookie or their token", async () => {
    const host = await startAuth(await createStore(options));
    const person = await host.person("ada");
    const { calls, instance } = counted(host);
    const byCookie = { headers: host.headers(person) };
    const first = await findCaller(instance, byCookie);
    expect(first?.userId).toBe(person.id);
    expect(await findCaller(instance, byCookie)).toBe(first);
    expect(calls.count).toBe(1);
    const byToken = { headers: new Headers(), token: person.token };
    expect(await findCaller(instance, byToken)).toBe(first);
    expect(await findCaller(instance, byToken)).toBe(first);
    expect(calls.count).toBe(2);
  });

  test("are refused after a sign-out, and their next session is another", async () => {
    const host = await startAuth(await createStore(options));
    const person = await host.person("ada");
    const { instance } = counted(host);
    const headers = host.headers(person);
    expect(await findCaller(instance, { headers })).toBeDefined();
    await host.call("/sign-out", { as: person });
    expect(await findCaller(instance, { headers })).toBeUndefined();
    const again = await host.again(person);
    expect((await findCaller(instance, { headers: host.headers(again) }))?.userId).toBe(person.id);
  });

  test("cannot use a one-time token twice", async () => {
    const host = await startAuth(await createStore(options));
    const person = await host.person("ada");
    const { instance } = counted(host);
    const { token } = await host.auth.api.generateOneTimeToken({ headers: host.headers(person) });
    expect((await findCaller(instance, { headers: new Headers(), token }))?.userId).toBe(person.id);
    expect(await findCaller(instance, { headers: new Headers(), token })).toBeUndefined();
  });
});

describe.each(STORES.filter(({ storage }) => !storage))(
  "guide/sessions: callers that come back ($name), after a change by SQL",
  (options) => {
    test.each([
      ["the user is banned", `update "user" set "banned" = true where "id" = ?`, "id"],
      ["the user is deleted", `delete from "user" where "id" = ?`, "id"],
      ["the session is deleted", `delete from "session" where "token" = ?`, "token"],
      ["the session has another token", `update "session" set "token" = 'other' where "token" = ?`, "token"],
    ] as const)("are refused at once when %s", async (_what, sql, field) => {
      const store = await createStore(options);
      const host = await startAuth(store);
      const person = await host.person("ada");
      const { instance } = counted(host);
      const headers = host.headers(person);
      expect(await findCaller(instance, { headers })).toBeDefined();
      expect(await findCaller(instance, { headers })).toBeDefined();
      await store.sql(sql, person[field]);
      expect(await findCaller(instance, { headers })).toBeUndefined();
    });
  },
);

/** An instance with rules of its own, and a user. */
async function withRules(more: Pick<BetterAuthOptions, "hooks">, plugins: BetterAuthPlugin[]) {
  const { url, drop } = await createPostgresDatabase();
  const pool = openPool({ connectionString: url, max: 3 });
  onTestFinished(async () => {
    await pool.end();
    await drop();
  });
  const options: BetterAuthOptions = {
    ...{ baseURL: "http://auth.example", secret: "a secret for tests that is long enough 0123456789" },
    ...{ database: pool, emailAndPassword: { enabled: true }, rateLimit: { enabled: false } },
    ...{ logger: { disabled: true }, telemetry: { enabled: false } },
    plugins: [bearer(), ...plugins],
    ...more,
  };
  await (await getMigrations(options)).runMigrations();
  const auth = betterAuth(options);
  const body = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };
  const { token } = await auth.api.signUpEmail({ body });
  return { auth, token: token ?? "" };
}

describe("guide/sessions: callers that come back, where the host has rules", () => {
  let isRefused = false;
  const refuse = createAuthMiddleware(async ({ path }) => {
    if (path === "/get-session" && isRefused) throw new APIError("FORBIDDEN");
  });
  const custom = customSession(async ({ user, session }) => (isRefused ? null : { user, session }) as object);
  const stranger: BetterAuthPlugin = {
    id: "stranger",
    hooks: { before: [{ matcher: () => true, handler: refuse }] },
  };

  test.each([
    ["a hook of the host", { hooks: { before: refuse } }, []],
    ["a hook of a plugin", {}, [stranger]],
    ["customSession()", {}, [custom as BetterAuthPlugin]],
  ] as const)("%s can refuse them", async (_what, more, plugins) => {
    isRefused = false;
    const { auth, token } = await withRules(more, [...plugins]);
    const headers = new Headers({ authorization: `Bearer ${token}` });
    expect(await findCaller(auth, { headers })).toBeDefined();
    isRefused = true;
    expect(await findCaller(auth, { headers })).toBeUndefined();
  });
});
