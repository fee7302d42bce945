/** A host with the fast path whose connection to PostgreSQL the test can cut, and a second host that stays connected. */
import { createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import type { Pool } from "pg";
import { expect, onTestFinished } from "vitest";
import { openTcpProxy, type TcpProxy } from "./contract/tcp-proxy.ts";
import { type Host, type Person, startHost } from "./host.ts";
import { flag } from "./memory-host.ts";
import { type WrappedHost, wrapHost } from "./wrapped-host.ts";

export interface OutageHost {
  /** Acts as another process and makes the changes. */
  readonly host: Host;
  readonly pool: Pool;
  readonly line: TcpProxy;
  readonly node: WrappedHost;
  /** A user with an old session, so that the time of a change shows that it is new. */
  settled(name: string, role?: string): Promise<Person>;
  /** Changes all rows to the age of an old session. */
  age(): Promise<void>;
}

function poolOf(connectionString: string): Pool {
  const pool = openPool({ connectionString, max: 4 });
  onTestFinished(() => pool.end());
  return pool;
}

export async function startOutageHost(options: Parameters<typeof wrapHost>[1] = {}): Promise<OutageHost> {
  const { url, drop } = await createPostgresDatabase();
  onTestFinished(drop);
  const pool = poolOf(url);
  const host = await startHost({ database: pool });
  onTestFinished(host.close);
  const line = await openTcpProxy(url);
  onTestFinished(line.close);
  const node = await wrapHost(host, { ...options, auth: { ...options.auth, database: poolOf(line.url) } });
  const age = async () => {
    for (const table of ["user", "session"]) {
      await pool.query(`update "${table}" set "updatedAt" = now() - interval '1 hour'`);
    }
  };
  return {
    host,
    pool,
    line,
    node,
    age,
    async settled(name, role) {
      const person = await host.person(name, role);
      await age();
      return person;
    },
  };
}

/** A flag whose value names the user it was evaluated for. */
export async function plantFor({ host }: OutageHost, person: Person): Promise<string> {
  const { id, key } = await host.auth.api.createFeatureFlag({
    body: flag({ enabled: true, defaultValue: "nobody" }),
  });
  await host.auth.api.createFeatureFlagOverride({ body: { flagId: id, userId: person.id, value: "mine" } });
  return key;
}

/** Evaluates repeatedly for the given time, and returns each response with the time since the start. */
async function keepAsking(
  { node }: OutageHost,
  key: string,
  person: Person,
  forMs: number,
): Promise<{ atMs: number; value: unknown; isFast: boolean; status: number }[]> {
  const startedAt = performance.now();
  const answers = [];
  while (performance.now() - startedAt < forMs) {
    const { json, isFast, status } = await node.ask("evaluate", { flagKey: key }, person.headers);
    answers.push({ atMs: performance.now() - startedAt, value: json["value"], isFast, status });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return answers;
}

/** Cuts off the session store for the given time, for a caller in the principal cache, another caller and an admin. */
export async function expectAnswersThrough(
  what: "cut" | "hold",
  forMs: number,
): Promise<{ readonly answers: number; readonly fast: number }> {
  const outage = await startOutageHost();
  const { host, node, line } = outage;
  const [person, unseen, admin] = [
    await host.person("person"),
    await host.person("unseen"),
    await host.person("admin", "admin"),
  ];
  await outage.age();
  const key = await plantFor(outage, person);
  const ask = (headers?: Record<string, string>, fields: object = {}) =>
    node.ask("evaluate", { flagKey: key, ...fields }, headers);
  await ask(person.headers);
  await ask(admin.headers);
  line[what]();
  const answers = await keepAsking(outage, key, person, forMs);
  expect(answers.map(({ value }) => value)).toEqual(answers.map(() => "mine"));
  const late = await ask(person.headers);
  expect(late).toMatchObject({
    status: 200,
    isFast: true,
    json: { value: "mine", metadata: { stale: true } },
  });
  expect(late.headers.get("x-feature-flags-stale")).toBe("1");
  for (const refused of await Promise.all([
    ask(unseen.headers),
    node.ask("admin/flags", { key: "new", name: "N", type: "boolean" }, admin.headers),
    // `evaluate-as` needs a permission check, which needs the store.
    ask(admin.headers, { context: { userId: "other" } }),
  ])) {
    expect(refused).toMatchObject({ status: 503, json: { code: "STORAGE_ERROR" } });
    expect(refused.headers.get("retry-after")).toBe("5");
  }
  expect(await ask()).toMatchObject({ status: 200, json: { value: "nobody" } });
  line.restore();
  await expect
    .poll(async () => (await ask(person.headers)).json, { timeout: 20_000 })
    .toMatchObject({ value: "mine", metadata: expect.not.objectContaining({ stale: true }) });
  expect((await ask(unseen.headers)).status).toBe(200);
  return { answers: answers.length, fast: answers.filter(({ isFast }) => isFast).length };
}
