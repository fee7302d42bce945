/** Server keys: keys of `@better-auth/api-key` with permissions on the resource `featureFlag`. */
import { FeatureFlagError } from "../model/errors.ts";
import { type Call, headersOf } from "./call.ts";
import { fallBackOnPrincipal, principalsOf, rememberPrincipal } from "./fast/host-principals.ts";
import { RETRY_AFTER_S } from "./session.ts";

export interface ServerKey {
  readonly id: string;
  /** The actions it was given on `featureFlag`. */
  readonly actions: readonly string[];
  /** Who owns it: a user or, where the key plugin is set up so, an organization. */
  readonly ownerId: string;
}

/** The part of the key plugin that is used; it may be absent, so its types are not imported. */
type VerifyKey = (input: { body: { key: string }; context: Call["context"] }) => Promise<{
  readonly valid: boolean;
  readonly error?: KeyProblem | null;
  readonly key: FoundKey | null;
}>;

interface FoundKey {
  readonly id: string;
  readonly referenceId?: unknown;
  readonly permissions?: unknown;
  readonly remaining?: unknown;
  readonly rateLimitEnabled?: unknown;
  readonly expiresAt?: unknown;
}

interface KeyProblem {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** What the key plugin says of a key that has used up what it was given. */
const SPENT: ReadonlySet<unknown> = new Set(["RATE_LIMITED", "USAGE_EXCEEDED"]);

/**
 * The server key that makes the call. Undefined without one, and for a key that has nothing to do with flags. One
 * that is not valid is refused: its bearer means to be somebody and must not be taken for anybody. While none can be
 * looked up, one that was valid lately still is, unless `authoritative`.
 */
export async function readKey(
  call: Call,
  { authoritative = false }: { authoritative?: boolean } = {},
): Promise<ServerKey | undefined> {
  const given = headersOf(call).get("x-api-key");
  const verify = verifierOf(call);
  if (given === null || verify === undefined) return undefined;
  const askedAt = principalsOf(call).now();
  const { valid, error, key } = await verify({ body: { key: given }, context: call.context });
  if (!valid || key === null) {
    const last = !authoritative && isOutage(error ?? {}) ? fallBackOnPrincipal(call, "key") : undefined;
    if (last?.kind === "key") return last.key;
    throw refusalOf(error ?? {});
  }
  const granted = actionsOf(key.permissions);
  if (granted === undefined || typeof key.referenceId !== "string") return undefined;
  const found: ServerKey = { id: key.id, actions: granted, ownerId: key.referenceId };
  const validUntilMs = validityOf(key);
  if (validUntilMs !== undefined) {
    rememberPrincipal(call, { caller: { kind: "key", key: found }, validUntilMs }, askedAt);
  }
  return found;
}

/** Until when the key is valid; undefined for one of which every use counts, so that each must be seen by its plugin. */
function validityOf({ remaining, rateLimitEnabled, expiresAt }: FoundKey): number | undefined {
  if ((remaining ?? null) !== null || rateLimitEnabled !== false) return undefined;
  if ((expiresAt ?? null) === null) return Number.POSITIVE_INFINITY;
  return expiresAt instanceof Date ? expiresAt.getTime() : undefined;
}

function verifierOf(call: Call): VerifyKey | undefined {
  const plugin = call.context.options.plugins?.find(({ id }) => id === "api-key");
  const endpoint: unknown = plugin?.endpoints?.["verifyApiKey"];
  return typeof endpoint === "function" ? (endpoint as VerifyKey) : undefined;
}

function actionsOf(permissions: unknown): readonly string[] | undefined {
  if (typeof permissions !== "object" || permissions === null || !Object.hasOwn(permissions, "featureFlag")) {
    return undefined;
  }
  const { featureFlag } = permissions as { featureFlag: unknown };
  return Array.isArray(featureFlag) ? featureFlag.filter((action) => typeof action === "string") : undefined;
}

function refusalOf(problem: KeyProblem): FeatureFlagError {
  const { code, details } = problem;
  if (isOutage(problem)) {
    // The key plugin has logged the cause and keeps it to itself.
    return new FeatureFlagError("STORAGE_ERROR", "The key in x-api-key could not be looked up. Try again.", {
      status: 503,
      details: { retryAfter: RETRY_AFTER_S },
    });
  }
  if (!SPENT.has(code)) {
    return new FeatureFlagError("PERMISSION_DENIED", "The key in x-api-key is not valid.", { status: 401 });
  }
  const { tryAgainIn = undefined } =
    typeof details === "object" && details !== null ? (details as { tryAgainIn?: unknown }) : {};
  return new FeatureFlagError(
    "RATE_LIMIT_EXCEEDED",
    "The key in x-api-key has used up its requests. Give the key a higher limit, or wait.",
    typeof tryAgainIn === "number" ? { details: { retryAfter: Math.ceil(tryAgainIn / 1000) } } : {},
  );
}

/**
 * The key plugin calls every key invalid while it cannot read its store. It then gives, where a refusal has the text of
 * its message, the whole entry of its table of errors.
 */
function isOutage({ code, message }: KeyProblem): boolean {
  return code === "INVALID_API_KEY" && typeof message === "object" && message !== null;
}
