/** A real application around the plugin: Better Auth on a database, behind a real HTTP server, with people to sign in. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { featureFlags } from "@halyard/flags";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { admin, bearer } from "better-auth/plugins";

type AdminOptions = Parameters<typeof admin>[0];

export interface HostOptions {
  readonly database: BetterAuthOptions["database"];
  /** False when another host has made the tables. */
  readonly migrate?: boolean;
  readonly admin?: AdminOptions;
  /** Lets the cookie carry a copy of the session, which Better Auth then believes for five minutes. */
  readonly cookieCache?: boolean;
}

export interface Person {
  readonly id: string;
  readonly email: string;
  /** What the browser would send: the session cookie. */
  readonly headers: Record<string, string>;
}

/** Whatever was answered, an evaluation, a flag or an error: the tests say which fields must be there. */
export interface AnswerBody {
  readonly value: unknown;
  readonly reason: string;
  readonly metadata: unknown;
  readonly context: unknown;
  readonly evaluatedAt: string;
  readonly id: string;
  readonly key: string;
  readonly defaultValue: unknown;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly code: string;
  readonly message: string;
  readonly details: unknown;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: AnswerBody;
}

const PASSWORD = "correct horse battery";

/** The type of its api is the plugin's promise to users, so it is inferred, not written down. */
function createAuth(baseURL: string, { database, admin: adminOptions, cookieCache = false }: HostOptions) {
  return betterAuth({
    baseURL,
    database,
    session: { cookieCache: { enabled: cookieCache } },
    secret: "a secret that is only good enough for tests, which is all it does",
    // Hashing for real costs a good part of a second each time.
    emailAndPassword: {
      enabled: true,
      password: {
        hash: async (password) => `plain:${password}`,
        verify: async ({ hash, password }) => hash === `plain:${password}`,
      },
    },
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [admin(adminOptions), bearer(), featureFlags()],
  });
}

export type Auth = ReturnType<typeof createAuth>;

export interface Host {
  readonly auth: Auth;
  /** The database as the plugin sees it. */
  readonly adapter: DBAdapter;
  request(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  createFlag(body: unknown, as?: Person): Promise<Answer>;
  evaluate(body: unknown, as?: Person): Promise<Answer>;
  person(name: string, role?: string): Promise<Person>;
  close(): Promise<void>;
}

export async function startHost(options: HostOptions): Promise<Host> {
  let handle: ReturnType<typeof toNodeHandler> | undefined;
  const server = createServer((request, response) => void handle?.(request, response));
  const origin = await listen(server);
  const auth = createAuth(origin, options);
  if (options.migrate !== false) await (await getMigrations(auth.options)).runMigrations();
  handle = toNodeHandler(auth);
  const { adapter } = await auth.$context;

  const request: Host["request"] = async (path, body, headers = {}) => {
    const response = await fetch(`${origin}/api/auth${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", origin, ...headers },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, text, json: JSON.parse(text) };
  };

  return {
    auth,
    adapter: adapter as DBAdapter,
    request,
    createFlag: (body, as) => request("/feature-flags/admin/flags", body, as?.headers),
    evaluate: (body, as) => request("/feature-flags/evaluate", body, as?.headers),
    async person(name, role) {
      const email = `${name}@example.com`;
      // Its types know only the built-in roles.
      const roles = role?.split(",") as "admin"[] | undefined;
      const { user } = await auth.api.createUser({
        body: { email, name, password: PASSWORD, ...(roles && { role: roles }) },
      });
      const { headers } = await auth.api.signInEmail({
        body: { email, password: PASSWORD },
        returnHeaders: true,
      });
      const cookie = headers.getSetCookie().map((line) => line.split(";", 1)[0]);
      return { id: user.id, email, headers: { cookie: cookie.join("; ") } };
    },
    close: () => close(server),
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
