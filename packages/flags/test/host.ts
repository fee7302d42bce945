/** Starts an application for tests: Better Auth with the plugin on a database, behind an HTTP server, with users. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { apiKey } from "@better-auth/api-key";
import type { DBAdapter } from "@better-auth/core/db/adapter";
import { closeFeatureFlags, type FeatureFlagsOptions, featureFlags } from "@halyard/flags";
import { type BetterAuthOptions, type BetterAuthPlugin, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { admin, bearer, type OrganizationOptions, organization } from "better-auth/plugins";
import type { Bounds } from "../src/server/port.ts";

type AdminOptions = Parameters<typeof admin>[0];

type AdditionalFields = NonNullable<BetterAuthOptions["user"]>["additionalFields"];

export interface HostOptions {
  readonly database: BetterAuthOptions["database"];
  /** False if another host has created the tables. Default true. */
  readonly migrate?: boolean;
  readonly admin?: AdminOptions;
  readonly organization?: OrganizationOptions;
  readonly flags?: FeatureFlagsOptions;
  /** Bounds of the plugin that are no options. */
  readonly bounds?: Bounds;
  /** Caches the session in the cookie, which Better Auth trusts for five minutes. */
  readonly cookieCache?: boolean;
  /** Lets an API key act as a session of its owner (`enableSessionForAPIKeys`). */
  readonly keysAreSessions?: boolean;
  /** Keeps API keys in secondary storage and not in the database. */
  readonly keysInStorage?: boolean;
  /** Better Auth's option `rateLimit`. */
  readonly rateLimit?: BetterAuthOptions["rateLimit"];
  readonly secondaryStorage?: BetterAuthOptions["secondaryStorage"];
  /** Secrets of Better Auth, instead of the one for tests. */
  readonly auth?: Pick<BetterAuthOptions, "secret" | "secrets">;
  /** Additional fields of users and of sessions. */
  readonly fields?: { readonly user?: AdditionalFields; readonly session?: AdditionalFields };
  /** Further plugins of Better Auth. */
  readonly plugins?: BetterAuthPlugin[];
  /** Called with every log message. */
  readonly log?: (message: string) => void;
}

export interface Person {
  readonly id: string;
  readonly email: string;
  /** The session cookie, as a browser sends it. */
  readonly headers: Record<string, string>;
}

/** The body of any response. The tests check which fields it has. */
// biome-ignore lint/suspicious/noExplicitAny: a test names the fields it expects, at any depth.
export type AnswerBody = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: AnswerBody;
}

export interface RequestOptions {
  readonly as?: { readonly headers: Record<string, string> } | undefined;
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Of every person. */
export const PASSWORD = "correct horse battery";

/** The type is inferred, because tests check the type of `auth.api` that users get. */
function createAuth(baseURL: string, options: HostOptions, plugin: ReturnType<typeof featureFlags>) {
  const { database, cookieCache = false, keysAreSessions = false, keysInStorage = false, log } = options;
  const keys = {
    rateLimit: { enabled: false },
    enableSessionForAPIKeys: keysAreSessions,
    ...(keysInStorage && { storage: "secondary-storage" as const }),
  };
  return betterAuth({
    baseURL,
    database,
    session: {
      cookieCache: { enabled: cookieCache },
      // The type of `auth.api` does not depend on additional fields.
      ...({ additionalFields: options.fields?.session ?? {} } as object),
    },
    ...({ user: { additionalFields: options.fields?.user ?? {} } } as object),
    ...(options.rateLimit && { rateLimit: options.rateLimit }),
    ...(options.secondaryStorage && { secondaryStorage: options.secondaryStorage }),
    secret: "a secret that is only good enough for tests, which is all it does",
    ...options.auth,
    // Real password hashing takes a large part of a second.
    emailAndPassword: {
      enabled: true,
      password: {
        hash: async (password) => `plain:${password}`,
        verify: async ({ hash, password }) => hash === `plain:${password}`,
      },
    },
    logger:
      log === undefined
        ? { disabled: true }
        : { level: "warn", log: (_level, message) => log(String(message)) },
    telemetry: { enabled: false },
    plugins: [
      admin(options.admin),
      organization(options.organization),
      bearer(),
      apiKey([
        { ...keys, configId: "default" },
        { ...keys, configId: "organization", references: "organization", enableSessionForAPIKeys: false },
      ]),
      plugin,
      // The type of `auth.api` does not depend on them.
      ...((options.plugins ?? []) as []),
    ],
  });
}

/** A comparison with another build has only what that build exports. */
async function createPlugin({ flags = {}, bounds }: HostOptions) {
  if (bounds === undefined) return featureFlags(flags);
  const plugin = await import("../src/server/plugin.ts");
  return plugin.createPlugin(flags, bounds);
}

export type Auth = ReturnType<typeof createAuth>;

export interface KeyOwner {
  readonly userId: string;
  readonly organizationId?: string;
  /** Whether the user makes it in the console. */
  readonly isPersonal?: boolean;
}

export interface Host {
  readonly auth: Auth;
  readonly origin: string;
  /** The database adapter of the plugin. */
  readonly adapter: DBAdapter;
  /** Sends a request to a path under `/api/auth`. */
  call(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  request(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  createFlag(body: unknown, as?: Person): Promise<Answer>;
  evaluate(body: unknown, as?: Person): Promise<Answer>;
  person(name: string, role?: string): Promise<Person>;
  /** Creates an organization that is active in the owner's session. */
  organization(owner: Person, name: string): Promise<string>;
  /** Adds a member, in whose session the organization is active. */
  join(person: Person, organizationId: string, role?: string): Promise<void>;
  /** Creates an API key of a user or an organization, as server code or as the user in the console, and returns its headers. */
  key(owner: KeyOwner, actions: readonly string[]): Promise<Person>;
  close(): Promise<void>;
}

export async function startHost(options: HostOptions): Promise<Host> {
  let handle: ReturnType<typeof toNodeHandler> | undefined;
  const server = createServer((request, response) => void handle?.(request, response));
  const origin = await listen(server);
  const auth = createAuth(origin, options, await createPlugin(options));
  if (options.migrate !== false) await (await getMigrations(auth.options)).runMigrations();
  handle = toNodeHandler(auth);
  const { adapter } = await auth.$context;

  const call: Host["call"] = async (method, path, { as, body, headers } = {}) => {
    const response = await fetch(`${origin}/api/auth${path}`, {
      method,
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        origin,
        ...as?.headers,
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return answerOf(response);
  };
  const request: Host["request"] = (path, body, headers) =>
    call("POST", path, { body, ...(headers && { headers }) });
  const activate = (person: Person, organizationId: string) =>
    auth.api.setActiveOrganization({ body: { organizationId }, headers: new Headers(person.headers) });

  return {
    auth,
    origin,
    adapter: adapter as DBAdapter,
    call,
    request,
    createFlag: (body, as) => request("/feature-flags/admin/flags", body, as?.headers),
    evaluate: (body, as) => request("/feature-flags/evaluate", body, as?.headers),
    async person(name, role) {
      const email = `${name}@example.com`;
      // The types permit only the built-in roles.
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
    async organization(owner, name) {
      const made = await auth.api.createOrganization({ body: { name, slug: name, userId: owner.id } });
      await activate(owner, made.id);
      return made.id;
    },
    async join(person, organizationId, role = "member") {
      // The types permit only the built-in roles.
      await auth.api.addMember({ body: { userId: person.id, organizationId, role: role as "member" } });
      await activate(person, organizationId);
    },
    async key({ userId, organizationId, isPersonal = false }, actions) {
      const { id, key } = await auth.api.createApiKey({
        body: {
          userId,
          permissions: {
            featureFlag: [...actions],
            ...(isPersonal && { featureFlagPersonalUntil: [String(Date.UTC(2100, 0, 1))] }),
          },
          ...(organizationId !== undefined && { configId: "organization", organizationId }),
        },
      });
      return { id, email: "", headers: { "x-api-key": key } };
    },
    async close() {
      await closeFeatureFlags(auth);
      await closeServer(server);
    },
  };
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const json = text === "" ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, text, json };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
