/** How long a verified session counts on the fast path: until it is revoked, changed or due for renewal. */
import { makeSignature } from "better-auth/crypto";
import { describe, expect, test } from "vitest";
import { memoryHost } from "./memory-host.ts";
import { moveClocks } from "./moved-clocks.ts";
import { plantFor, startOutageHost } from "./outage-host.ts";
import { wrapHost } from "./wrapped-host.ts";

describe("a verified session", () => {
  test("is served without Better Auth while it exists, and for at most 5 s after another process has ended it", async () => {
    const clocks = moveClocks();
    const outage = await startOutageHost();
    const person = await outage.settled("person");
    const key = await plantFor(outage, person);
    const ask = () => outage.node.ask("evaluate", { flagKey: key }, person.headers);
    const askFor = async (ms: number) => {
      const answers = [];
      for (let passedMs = 0; passedMs < ms; passedMs += 100) {
        answers.push(await ask());
        clocks.pass(100);
      }
      return answers;
    };
    const before = await askFor(7000);
    expect(before.every(({ json }) => json["value"] === "mine")).toBe(true);
    // Better Auth verifies the first request. Then the session is checked in the background or before the response;
    // neither involves Better Auth.
    expect(before.filter(({ isFast }) => !isFast)).toHaveLength(1);
    await outage.pool.query("delete from session");
    await askFor(5000);
    expect((await ask()).json["value"]).toBe("nobody");
  });

  test("has the new role and organization 5 s after another process has changed them", async () => {
    const clocks = moveClocks();
    const outage = await startOutageHost();
    const { host, node, pool, age } = outage;
    const person = await host.person("person");
    const organization = await host.organization(person, "own");
    await age();
    const ask = async () => {
      const body = { flagKey: "none", contextInResponse: true };
      const { json, isFast } = await node.ask("evaluate", body, person.headers);
      return { ...(json["context"] as object), isFast };
    };
    await ask();
    const attributes = { organizationRole: "owner" };
    expect(await ask()).toMatchObject({
      role: "user",
      organizationId: organization,
      attributes,
      isFast: true,
    });
    await host.auth.api.adminUpdateUser({
      body: { userId: person.id, data: { role: "admin" } },
      headers: new Headers((await host.person("admin", "admin")).headers),
    });
    await pool.query(`update member set role = 'member'`);
    clocks.pass(5000);
    expect(await ask()).toMatchObject({ role: "admin", attributes: { organizationRole: "member" } });
    await pool.query("delete from member");
    clocks.pass(5000);
    expect(await ask()).not.toHaveProperty("organizationId");
  });

  test("ends at once when this process ends it", async () => {
    const host = await memoryHost();
    const { auth, ask } = await wrapHost(host);
    const person = await host.person("person");
    const body = { flagKey: "none", contextInResponse: true };
    await ask("evaluate", body, person.headers);
    expect(await ask("evaluate", body, person.headers)).toMatchObject({
      isFast: true,
      json: { context: { userId: person.id } },
    });
    await auth.api.signOut({ headers: new Headers(person.headers) });
    const { json } = await ask("evaluate", body, person.headers);
    expect(json["context"]).not.toHaveProperty("userId");
  });

  test("is verified by Better Auth each time if its token has several lines, because tokens are looked up by line", async () => {
    const host = await memoryHost();
    const { ask } = await wrapHost(host);
    const { id } = await host.person("person");
    const token = "one\ntwo";
    host.db.prepare("update session set token = ?").run(token);
    const { authCookies, secret } = await host.auth.$context;
    const signed = `${token}.${await makeSignature(token, secret)}`;
    const headers = { cookie: `${authCookies.sessionToken.name}=${encodeURIComponent(signed)}` };
    for (let i = 0; i < 2; i++) {
      const { json, isFast } = await ask("evaluate", { flagKey: "none", contextInResponse: true }, headers);
      expect([json["context"], isFast]).toMatchObject([{ userId: id }, false]);
    }
  });

  test("is renewed by Better Auth when that is due", async () => {
    const clocks = moveClocks();
    const outage = await startOutageHost();
    const { node, pool } = outage;
    const person = await outage.settled("person");
    const ask = () => node.ask("evaluate", { flagKey: "none" }, person.headers);
    // Better Auth renews a session of seven days once a day: this one will be a day old in a minute.
    await pool.query(`update session set "expiresAt" = now() + interval '6 days 1 minute'`);
    await ask();
    expect((await ask()).isFast).toBe(true);
    clocks.pass(60_000);
    const late = await ask();
    expect([late.isFast, late.headers.getSetCookie().length]).toEqual([false, 1]);
    const { rows } = await pool.query(
      `select "expiresAt" > now() + interval '6 days 23 hours' as renewed from session`,
    );
    expect(rows).toEqual([{ renewed: true }]);
  });
});
