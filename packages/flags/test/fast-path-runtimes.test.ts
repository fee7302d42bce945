/** Checks the fast path on Bun and Cloudflare Workers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { bunPath } from "@halyard/services";
import { startWorker } from "@halyard/services/worker";
import { describe, expect, onTestFinished, test } from "vitest";

const fixture = (name: string): string => new URL(`./fixtures/${name}`, import.meta.url).pathname;

async function startBun(): Promise<string> {
  const args = ["--conditions=@halyard/source", fixture("fast-path-bun.ts")];
  // In production, Better Auth does not substitute an address for callers without one.
  const program = spawn(bunPath(), args, { env: { ...process.env, NODE_ENV: "production" } });
  onTestFinished(() => void program.kill());
  program.stderr.pipe(process.stderr);
  const [line] = await once(program.stdout, "data");
  return `http://127.0.0.1:${String(line).trim()}`;
}

async function startWorkerd(): Promise<string> {
  const worker = await startWorker({ entry: fixture("fast-path-worker.ts"), nodeModules: true });
  onTestFinished(worker.stop);
  return worker.url.replace("ws:", "http:");
}

describe.each([
  ["Bun", startBun],
  ["workerd", startWorkerd],
])("on %s", (_name, start) => {
  test("the fast path answers evaluations of anonymous visitors and signed-in users", {
    timeout: 60_000,
  }, async () => {
    const url = await start();
    const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}/api/auth${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, json: await response.json() };
    };
    const passedOn = async () => (await fetch(`${url}/passed-on`)).json();
    const evaluate = (headers?: Record<string, string>) =>
      post("/feature-flags/evaluate", { flagKey: "k", contextInResponse: true }, headers);
    const email = "ann@example.com";
    const person = { name: "Ann", email, password: "correct horse battery" };
    const signedUp = await post("/sign-up/email", person, { origin: url });
    expect(signedUp.status).toBe(200);
    const cookie = signedUp.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
    const session = { cookie: cookie.join("; "), origin: url };
    const bearer = { authorization: `Bearer ${signedUp.json.token}` };
    for (const headers of [undefined, session, bearer]) await evaluate(headers);
    const before = await passedOn();
    for (const headers of [undefined, session, bearer]) {
      const { status, json } = await evaluate(headers);
      expect([status, json.value, json.context.email]).toEqual([200, "v", headers && email]);
    }
    expect((await post("/feature-flags/bootstrap", {}, session)).json.flags.k).toMatchObject({ value: "v" });
    expect(await passedOn()).toBe(before);
    // Rate limits apply, and other paths go to Better Auth.
    const statuses = [];
    for (let times = 0; times < 4; times++)
      statuses.push((await post("/feature-flags/bootstrap", {})).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await (await fetch(`${url}/api/auth/ok`)).json()).toEqual({ ok: true });
  });
});
