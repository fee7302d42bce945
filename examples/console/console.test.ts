import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "./app.ts";
import { openDatabase } from "./database.ts";
import { PASSWORD } from "./seed.ts";

void test("the console shows 30 flags with a history of 30 days", async () => {
  const app = await startApp(openDatabase(undefined), 0, { customers: 5, evaluationsPerDay: 1 });
  try {
    const headers = { origin: app.origin, "x-halyard-console": "1", "content-type": "application/json" };
    const signedIn = await fetch(`${app.consoleUrl}/api/auth/sign-in/email`, {
      method: "POST",
      headers,
      body: JSON.stringify({ email: "ada@halyard.example", password: PASSWORD }),
    });
    const cookie = signedIn.headers
      .getSetCookie()
      .map((line) => line.split(";", 1)[0])
      .join("; ");
    const read = async (path: string) =>
      (
        await fetch(`${app.consoleUrl}/api/feature-flags/admin${path}`, { headers: { ...headers, cookie } })
      ).json();
    const { flags } = (await read("/flags?organizationId=&limit=200")) as { flags: unknown[] };
    assert.equal(flags.length, 30);
    const { entries } = (await read("/audit?organizationId=&limit=200")) as { entries: { at: string }[] };
    const days = new Set(entries.map(({ at }) => at.slice(0, 10)));
    assert.ok(days.size >= 30, `${days.size} days`);
  } finally {
    await app.stop();
  }
});
