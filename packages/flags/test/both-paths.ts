/** Sends the same generated requests to Better Auth and to the fast path, and compares the bytes of the responses. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { closeFeatureFlags, featureFlags, withFeatureFlags } from "@halyard/flags";
import { toNodeHandler } from "@halyard/flags/node";
import { type BetterAuthPlugin, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler as toAuthListener } from "better-auth/node";
import { type FreshDatabase, freshPostgres } from "./databases.ts";
import { type Answered, type Asked, nextRequest, type People } from "./generated-requests.ts";
import { type Host, type HostOptions, startHost } from "./host.ts";
import { chanceOf } from "./malformed.ts";

type Send = (request: Asked) => Promise<Answered>;

/** Through `auth.handler`, and through the Node listener over a real connection. */
interface Path {
  readonly fetch: Send;
  readonly raw: Send;
}

export interface BothPaths {
  readonly host: Host;
  /** The server methods of an instance with the options of both paths. */
  readonly api: Host["auth"]["api"];
  readonly plain: Path;
  readonly fast: Path;
  /** Number of requests that the fast path passed on to Better Auth. */
  passedOn(): number;
  close(): Promise<void>;
}

export interface PathsOptions {
  /** Default: a new database on PostgreSQL. */
  readonly fresh?: FreshDatabase<HostOptions["database"]>;
  /** The origin of the application. Default: the one of the host. */
  readonly origin?: string;
  readonly multiTenant?: boolean;
  readonly cookieCache?: boolean;
  /** Requests per hour and principal, for each rule. */
  readonly limit?: number;
  /** Whether invalid sessions and API keys of an address are limited, by the minute. Default true. */
  readonly limitsCredentials?: boolean;
  /** Further plugins of both instances. */
  readonly plugins?: BetterAuthPlugin[];
}

/** Two instances on one database with separate rate limits, so that both count the same requests. */
export async function startBothPaths(options: PathsOptions = {}): Promise<BothPaths> {
  const { multiTenant = false, cookieCache = false, limit = 1_000_000, plugins = [] } = options;
  const { limitsCredentials = true } = options;
  const fresh: FreshDatabase<HostOptions["database"]> = options.fresh ?? (await freshPostgres());
  // Separate pools, as separate processes have.
  const [first, second, third] = [fresh.connect(), fresh.connect(), fresh.connect()];
  const host = await startHost({ database: first.database, cookieCache });
  const { origin = host.origin } = options;
  const rule = { max: limit, windowSeconds: 3600 };
  const flags = {
    multiTenant,
    environments: { default: "production", claimable: ["production", "beta"] },
    rateLimit: {
      rules: {
        evaluate: rule,
        "evaluate-batch": rule,
        bootstrap: rule,
        "bootstrap-anonymous": rule,
        events: rule,
        "events-batch": rule,
        ...(!limitsCredentials && { credentials: false as const }),
      },
    },
  };
  const settings = {
    ...host.auth.options,
    baseURL: origin,
    // Both are off by default in tests.
    rateLimit: { enabled: true },
    advanced: { disableOriginCheck: false },
    plugins: [
      ...host.auth.options.plugins.filter(({ id }) => id !== "feature-flags"),
      ...plugins,
      featureFlags({ ...flags }),
    ],
  };
  const migrated = { ...settings, database: first.database };
  if (plugins.length > 0) await (await getMigrations(migrated)).runMigrations();
  const plain = betterAuth({ ...settings, database: second.database });
  const inner = betterAuth({ ...settings, database: third.database });
  let passedOn = 0;
  const fast = withFeatureFlags({
    ...inner,
    handler(request: Request) {
      passedOn += 1;
      return inner.handler(request);
    },
  });
  await fast.$context;
  const plainListener = await listen(toAuthListener(plain));
  const fastListener = await listen(toNodeHandler(fast));
  return {
    host,
    // The type does not know the plugins, because they come from a list.
    api: plain.api as unknown as Host["auth"]["api"],
    plain: {
      fetch: (request) => send(request, origin, (request) => plain.handler(request)),
      raw: plainListener.send,
    },
    fast: {
      fetch: (request) => send(request, origin, (request) => fast.handler(request)),
      raw: fastListener.send,
    },
    passedOn: () => passedOn,
    async close() {
      await Promise.all([closeFeatureFlags(plain), closeFeatureFlags(fast), host.close()]);
      await Promise.all([plainListener.close(), fastListener.close()]);
      for (const { close } of [first, second, third]) await close();
      await fresh.drop();
    },
  };
}

async function listen(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<{ send: Send; close(): Promise<void> }> {
  const server = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    async send({ method, path, headers, body }) {
      // Leaves out the headers that `fetch` adds, which would be sent twice.
      const { "content-length": _length, ...others } = headers;
      return answeredOf(await fetch(`${url}${path}`, { method, headers: others, ...(body && { body }) }));
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function send(
  { method, path, headers, body }: Asked,
  origin: string,
  handle: (request: Request) => Promise<Response>,
): Promise<Answered> {
  return answeredOf(
    await handle(new Request(`${origin}${path}`, { method, headers, ...(body && { body }) })),
  );
}

async function answeredOf(response: Response): Promise<Answered> {
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const COMPARED = [
  "content-type",
  "cache-control",
  "pragma",
  "x-feature-flags-revision",
  "x-feature-flags-stale",
  "etag",
  "retry-after",
  "set-auth-token",
];

/** The parts of a response that do not depend on the time or on the instance. */
export function comparable({ status, text, headers }: Answered): unknown {
  const steady = text
    .replaceAll(/"evaluatedAt":"[^"]+"/g, '"evaluatedAt":""')
    // A token has the time of its evaluation.
    .replaceAll(/"[\w-]{40,}\.[\w-]{22}"/g, '"token"')
    .replaceAll(/"(eventId|batchId)":"[^"]{36}"/g, '"$1":""')
    // The windows of the two instances start some milliseconds apart.
    .replaceAll(/"retryAfter":\d+|Wait \d+ s/g, "");
  const compared = COMPARED.map((name) => [
    name,
    name === "retry-after" ? headers.has(name) : headers.get(name),
  ]);
  const cookies = headers.getSetCookie().map((cookie) => cookie.replace(/=[^;]*/, ""));
  return { status, text: steady, headers: compared, cookies };
}

export function isStale({ headers }: Answered): boolean {
  return headers.has("x-feature-flags-stale");
}

export interface Comparison {
  requests: number;
  readonly byStatus: Record<number, number>;
}

/** Sends the same requests to both paths, one after another, and throws at the first different response. */
export async function compare(
  paths: BothPaths,
  people: People,
  keys: readonly string[],
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<Comparison> {
  const chance = chanceOf(seed);
  const done: Comparison = { requests: 0, byStatus: {} };
  while (done.requests < requests) {
    const request = nextRequest(chance, people, keys);
    const isRaw = chance() < 0.3;
    const askFast = isRaw ? paths.fast.raw : paths.fast.fetch;
    let [expected, given] = [await paths.plain.fetch(request), await askFast(request)];
    // On a busy machine one of the two may be stale, because its last check of the database is over 2 s ago.
    for (let times = 0; times < 20 && isStale(expected) !== isStale(given); times++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      [expected, given] = [await paths.plain.fetch(request), await askFast(request)];
    }
    const [one, other] = [comparable(expected), comparable(given)].map((answer) => JSON.stringify(answer));
    if (one !== other) {
      const what = `${JSON.stringify(request)} (${isRaw ? "raw" : "fetch"}, seed ${seed}, ${done.requests})`;
      throw new Error(`Different responses to ${what}:\nBetter Auth ${one}\nfast path   ${other}`);
    }
    done.requests += 1;
    done.byStatus[expected.status] = (done.byStatus[expected.status] ?? 0) + 1;
  }
  return done;
}
