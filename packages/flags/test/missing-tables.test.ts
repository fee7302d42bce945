/** Checks that a forgotten migration is answered and logged with the command to run. */
import { featureFlags } from "@halyard/flags";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshMariadb, freshPostgres, freshSqlite } from "./databases.ts";

const ADVICE =
  "Run `npx auth migrate`; with Drizzle or Prisma, run `npx auth generate` and then your own migration.";

describe.each([
  ["SQLite", freshSqlite],
  ["PostgreSQL", freshPostgres],
  ["MariaDB", freshMariadb],
] as const)("a database without the tables of the plugin, on %s", (_name, fresh) => {
  async function start(validateSchema: boolean) {
    const made = await fresh();
    const { database, close } = made.connect();
    onTestFinished(async () => {
      await close();
      await made.drop();
    });
    const logged: string[] = [];
    const base = {
      baseURL: "http://localhost:3000",
      database,
      secret: "a secret that is only good enough for tests, which is all it does",
      emailAndPassword: { enabled: true },
      advanced: { database: { validateSchema } },
      logger: { level: "warn" as const, log: (_level: string, message: string) => void logged.push(message) },
    };
    // The host has been in use before the plugin was added.
    await (await getMigrations(base)).runMigrations();
    const auth = betterAuth({ ...base, plugins: [featureFlags({ poll: false })] });
    return { auth, logged };
  }

  test("is reported by Better Auth at start with the command to run", async () => {
    const { auth, logged } = await start(true);
    await auth.$context;
    await expect.poll(() => logged.join("\n")).toContain("npx auth migrate");
    expect(logged.join("\n")).toContain("featureFlag");
    await expect(auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } })).rejects.toThrow(
      "npx auth migrate",
    );
  });

  test("gives every operation an error with the command, where Better Auth does not check the schema", async () => {
    const { auth, logged } = await start(false);
    const body = { key: "k", name: "N", type: "boolean" as const };
    for (const call of [
      () => auth.api.evaluateFeatureFlag({ body: { flagKey: "k" } }),
      () => auth.api.listFeatureFlags(),
      () => auth.api.createFeatureFlag({ body }),
      () => auth.api.getFeatureFlag({ params: { id: "key:k" } }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        statusCode: expect.toBeOneOf([500, 503]),
        body: {
          code: "STORAGE_ERROR",
          message: expect.stringMatching(/ The database has no table "\w+"\. /),
        },
      });
      await expect(call()).rejects.toThrow(ADVICE);
    }
    // A request over HTTP learns nothing about the database; the log has the command.
    const url = "http://localhost:3000/api/auth/feature-flags/evaluate";
    const headers = { "content-type": "application/json" };
    const request = new Request(url, { method: "POST", headers, body: JSON.stringify({ flagKey: "k" }) });
    expect(await (await auth.handler(request)).json()).toEqual({
      code: "STORAGE_ERROR",
      message: "The flags are not loaded yet. Try again later.",
      details: { retryAfter: 1 },
    });
    expect(logged.join("\n")).toContain(ADVICE);
    // The line leads to the page that explains it.
    expect(logged.join("\n")).toContain("docs/guide/flags-troubleshooting.md#storage_error)");
    // Sign-in does not need the tables.
    const user = { email: "ada@example.com", password: "correct horse battery", name: "Ada" };
    expect((await auth.api.signUpEmail({ body: user })).user.email).toBe("ada@example.com");
  });
});
