/** A Better Auth instance in memory, with a plugin that identifies the callers of its own endpoint. */
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { createAuthEndpoint } from "better-auth/api";
import { admin, bearer, organization } from "better-auth/plugins";
import { vi } from "vitest";
import { createIdentities } from "../src/identify/identities.ts";
import type { HostContext, IdentityRequest } from "../src/identify/request.ts";
import { RequestIdentity } from "../src/identify/request-identity.ts";

type Row = Record<string, unknown>;
type Use<Result> = (identity: RequestIdentity, request: IdentityRequest) => Promise<Result>;

/** The answer of the key plugin that the host has. */
export interface KeyAnswer {
  readonly valid: boolean;
  readonly error?: object;
  readonly key: Row | null;
}

/** An application with a signed-in user, Ann, who owns the organization `acme`. */
export async function startHost(session: BetterAuthOptions["session"] = {}) {
  const models = ["user", "session", "account", "verification", "organization", "member", "invitation"];
  const tables = Object.fromEntries(models.map((model): [string, Row[]] => [model, []]));
  const keys = new Map<string, KeyAnswer>();
  let work: Use<void> = async () => {};
  const who = createAuthEndpoint("/who", { method: "GET" }, async (request) => {
    await work(new RequestIdentity(request, identities), request);
  });
  const verifyApiKey = createAuthEndpoint("/verify", { method: "POST" }, async ({ body }) => {
    const sent: string = body.key;
    return keys.get(sent) ?? { valid: false, key: null };
  });
  const auth = betterAuth({
    baseURL: "http://auth.example",
    secret: "a secret for tests that is long enough 0123456789",
    database: memoryAdapter(tables),
    emailAndPassword: {
      enabled: true,
      password: { hash: async (password) => password, verify: async () => true },
    },
    session,
    rateLimit: { enabled: false },
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [
      admin(),
      organization(),
      bearer(),
      { id: "who", endpoints: { who } },
      { id: "api-key", endpoints: { verifyApiKey } },
    ],
  });
  const context = (await auth.$context) as unknown as HostContext;
  const identities = createIdentities(context, { keyResource: "flags" });
  const { headers, response } = await auth.api.signUpEmail({
    body: { name: "Ann", email: "ann@example.com", password: "correct horse battery" },
    returnHeaders: true,
  });
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
  const userId = response.user.id;
  tables["organization"]?.push({ id: "acme", name: "Acme", slug: "acme" });
  tables["member"]?.push({ id: "m1", userId, organizationId: "acme", role: "owner" });

  /** Uses the identity of a request with these headers; without any, of a call by the application's own code. */
  async function ask<Result>(given: Record<string, string> | undefined, use: Use<Result>): Promise<Result> {
    let result: Promise<Result> | undefined;
    work = async (identity, request) => {
      result = use(identity, request);
      await result.catch(() => undefined);
    };
    await auth.api.who(given && { headers: new Headers(given) });
    if (result === undefined) throw new Error("The endpoint was not called.");
    return result;
  }

  return {
    ask,
    auth,
    context,
    cookie,
    identities,
    keys,
    tables,
    userId,
    /** Every read of a session. */
    reads: vi.spyOn(context.internalAdapter, "findSession"),
    /** Every read of a member or an organization. */
    queries: vi.spyOn(context.adapter, "findOne"),
    /** The row of the session, or of the user. */
    row: (model: "session" | "user"): Row => tables[model]?.[0] ?? {},
  };
}

/** Leaves the caller in the principal cache, as a request within its rate limit does. */
export const remember = async (identity: RequestIdentity) => {
  identity.markCounted();
  return identity.evaluator();
};
