/** API keys of `@better-auth/api-key` that have permissions on the host's resource. */
import { IdentityError, unavailable } from "./errors.ts";
import { type KeyOwner, readKeyOwner } from "./key-owner.ts";
import { type HostContext, headersOf, type IdentityRequest } from "./request.ts";
import { msOf } from "./session-caller.ts";

/** The header with an API key. */
export const KEY_HEADER: string = "x-api-key";

/** An API key that was verified. */
export interface ServerKey {
  /** The id of the key. Not a credential. */
  readonly id: string;
  /** The actions the key grants on the resource. */
  readonly actions: readonly string[];
  /** The id of a user or, where the key plugin is configured so, of an organization; or the name of a service. */
  readonly ownerId: string;
  /** To whom the key belongs, as the database says now. */
  readonly owner: KeyOwner;
  /** Whether a person made it: it grants what its actions and the permissions of its owner both grant. */
  readonly isPersonal: boolean;
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
  readonly key: VerifiedKey | null;
}>;

/** The fields of a key of the key plugin that decide, as its endpoints or its table give them. */
export interface StoredKey {
  /** The id of the key. Not a credential. */
  readonly id: string;
  /** The id of the owner. */
  readonly referenceId?: unknown;
  /** False for a key that was disabled. */
  readonly enabled?: unknown;
  /** An object, or the same as JSON. */
  readonly permissions?: unknown;
  /** When the key ends. Null or undefined for a key that does not expire. */
  readonly expiresAt?: unknown;
}

interface VerifiedKey extends StoredKey {
  readonly remaining?: unknown;
  readonly rateLimitEnabled?: unknown;
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
  const found = await findKey(request.context, key, resource);
  if (found === "ended") throw ownerGone();
  if (found === undefined) return undefined;
  return { key: found, validUntilMs: validUntil(key, resource) };
}

/**
 * The key in a row. Undefined without permissions on the resource. `ended`: it is disabled or has expired, or its owner was
 * banned or removed.
 */
export async function findKey(
  context: HostContext,
  { id, referenceId, enabled, permissions, expiresAt }: StoredKey,
  resource: string,
): Promise<ServerKey | "ended" | undefined> {
  const actions = permissionsOn(permissions, resource);
  if (actions === undefined || typeof referenceId !== "string") return undefined;
  const personalUntilMs = personalUntil(permissions, resource);
  if (enabled === false || !(Date.now() < endOf(expiresAt, personalUntilMs))) return "ended";
  const isPersonal = personalUntilMs !== undefined;
  const owner = await readKeyOwner(context, referenceId, isPersonal);
  return owner === undefined ? "ended" : { id, actions, ownerId: referenceId, owner, isPersonal };
}

/** The permissions of a key that a person makes: they say so, and when the key ends. Only server code can change them. */
export function personalPermissions(
  resource: string,
  actions: readonly string[],
  untilMs: number,
): Record<string, string[]> {
  return { [resource]: [...actions], [personalMark(resource)]: [String(untilMs)] };
}

/** In wall-clock time, when a key ends that a person made. Undefined for a key that server code made. */
export function personalUntil(permissions: unknown, resource: string): number | undefined {
  const mark = permissionsOn(permissions, personalMark(resource));
  return mark && Number(mark[0]);
}

/** With a time in ms since epoch: Better Auth turns ISO dates in permissions into objects. */
function personalMark(resource: string): string {
  return `${resource}PersonalUntil`;
}

function validUntil(
  { remaining, rateLimitEnabled, expiresAt, permissions }: VerifiedKey,
  resource: string,
): number | undefined {
  if ((remaining ?? null) !== null || rateLimitEnabled !== false) return undefined;
  return endOf(expiresAt, personalUntil(permissions, resource));
}

/** Infinite for a key that does not expire. */
function endOf(expiresAt: unknown, personalUntilMs: number | undefined): number {
  return Math.min(msOf(expiresAt) ?? Number.POSITIVE_INFINITY, personalUntilMs ?? Number.POSITIVE_INFINITY);
}

function verifierOf({ options }: HostContext): VerifyKey | undefined {
  const plugin = options.plugins?.find(({ id }) => id === "api-key");
  const endpoint: unknown = plugin?.endpoints?.["verifyApiKey"];
  return typeof endpoint === "function" ? (endpoint as VerifyKey) : undefined;
}

/** What the permissions of a key, an object or the same as JSON, grant on the resource. Undefined if they do not name it. */
export function permissionsOn(permissions: unknown, resource: string): readonly string[] | undefined {
  const granted = typeof permissions === "string" ? parsed(permissions) : permissions;
  if (typeof granted !== "object" || granted === null || !Object.hasOwn(granted, resource)) return undefined;
  const texts = (granted as Readonly<Record<string, unknown>>)[resource];
  return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
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

function ownerGone(): IdentityError {
  const message = `The key in ${KEY_HEADER} has expired, or its owner was banned or removed. Make a new key; for a deployment, server code makes one for "service:<name>" instead of a user.`;
  return new IdentityError("invalid-key", message);
}

/**
 * While the key plugin cannot read its store, it reports every key as invalid. `message` is then a whole entry of its
 * error table instead of a text.
 */
function isOutage({ code, message }: KeyProblem): boolean {
  return code === "INVALID_API_KEY" && typeof message === "object" && message !== null;
}
