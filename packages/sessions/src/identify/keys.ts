/** API keys of `@better-auth/api-key` that have permissions on the host's resource. */
import { IdentityError, unavailable } from "./errors.ts";
import { type HostContext, headersOf, type IdentityRequest } from "./request.ts";

/** The header with an API key. */
export const KEY_HEADER: string = "x-api-key";

/** An API key that was verified. */
export interface ServerKey {
  /** The id of the key. Not a credential. */
  readonly id: string;
  /** The actions the key grants on the resource. */
  readonly actions: readonly string[];
  /** The id of a user or, where the key plugin is configured so, of an organization. */
  readonly ownerId: string;
}

export interface ReadKey {
  readonly key: ServerKey;
  /** Wall-clock time. Undefined when the key plugin counts each use and must see every request. */
  readonly validUntilMs: number | undefined;
}

/** The part of the key plugin that is used. The plugin is optional, so its types are not imported. */
type VerifyKey = (input: { body: { key: string }; context: HostContext }) => Promise<{
  readonly valid: boolean;
  readonly error?: KeyProblem | null;
  readonly key: StoredKey | null;
}>;

interface StoredKey {
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

const EXHAUSTED_CODES: ReadonlySet<unknown> = new Set(["RATE_LIMITED", "USAGE_EXCEEDED"]);

/**
 * Undefined without a key, and for a key without permissions on the resource. An invalid key is an error: its sender
 * means to be identified and must not be treated as an anonymous visitor.
 */
export async function readKey(request: IdentityRequest, resource: string): Promise<ReadKey | undefined> {
  const sent = headersOf(request).get(KEY_HEADER);
  const verify = verifierOf(request.context);
  if (sent === null || verify === undefined) return undefined;
  const { valid, error, key } = await verify({ body: { key: sent }, context: request.context });
  if (!valid || key === null) throw refusalOf(error ?? {});
  const actions = actionsOf(key.permissions, resource);
  if (actions === undefined || typeof key.referenceId !== "string") return undefined;
  return { key: { id: key.id, actions, ownerId: key.referenceId }, validUntilMs: validUntil(key) };
}

function validUntil({ remaining, rateLimitEnabled, expiresAt }: StoredKey): number | undefined {
  if ((remaining ?? null) !== null || rateLimitEnabled !== false) return undefined;
  if ((expiresAt ?? null) === null) return Number.POSITIVE_INFINITY;
  return expiresAt instanceof Date ? expiresAt.getTime() : undefined;
}

function verifierOf({ options }: HostContext): VerifyKey | undefined {
  const plugin = options.plugins?.find(({ id }) => id === "api-key");
  const endpoint: unknown = plugin?.endpoints?.["verifyApiKey"];
  return typeof endpoint === "function" ? (endpoint as VerifyKey) : undefined;
}

function actionsOf(permissions: unknown, resource: string): readonly string[] | undefined {
  if (typeof permissions !== "object" || permissions === null || !Object.hasOwn(permissions, resource)) {
    return undefined;
  }
  const actions = (permissions as Readonly<Record<string, unknown>>)[resource];
  return Array.isArray(actions) ? actions.filter((action) => typeof action === "string") : undefined;
}

function refusalOf(problem: KeyProblem): IdentityError {
  const { code, details } = problem;
  // The key plugin logs the cause and does not pass it on.
  if (isOutage(problem)) return unavailable(`The key in ${KEY_HEADER} could not be looked up. Try again.`);
  if (!EXHAUSTED_CODES.has(code)) {
    const message = `The key in ${KEY_HEADER} is not valid. Check that it exists, is enabled and has not expired.`;
    return new IdentityError("invalid-key", message);
  }
  const { tryAgainIn = undefined } =
    typeof details === "object" && details !== null ? (details as { tryAgainIn?: unknown }) : {};
  return new IdentityError(
    "key-exhausted",
    `The key in ${KEY_HEADER} has used up its requests. Give the key a higher limit, or wait.`,
    typeof tryAgainIn === "number" ? { retryAfterSeconds: Math.ceil(tryAgainIn / 1000) } : {},
  );
}

/**
 * While the key plugin cannot read its store, it reports every key as invalid. `message` is then a whole entry of its
 * error table instead of a text.
 */
function isOutage({ code, message }: KeyProblem): boolean {
  return code === "INVALID_API_KEY" && typeof message === "object" && message !== null;
}
