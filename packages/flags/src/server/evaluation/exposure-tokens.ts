/**
 * Exposure tokens: what the server showed to a user, signed, so that it can be reported later without a second evaluation.
 * A token is base64url of its fields as JSON, a dot, and 128 bits of an HMAC-SHA256.
 */
import { createSigner, type Signer } from "./hmac.ts";

/** What a token says. */
export interface ShownFlag {
  readonly tenant: string;
  readonly flagId: string;
  readonly arm: string;
  readonly byChance: boolean;
  /** The revision of the flags. */
  readonly revision: number;
  readonly subject?: string | undefined;
  readonly userId?: string | undefined;
  readonly anonymousId?: string | undefined;
  /** Wall-clock time. */
  readonly atMs: number;
}

export interface ExposureTokens {
  sign(shown: ShownFlag): string;
  /** Undefined if this server did not sign the token, or more than 24 hours ago. */
  read(token: unknown, nowMs: number): ShownFlag | undefined;
}

const LIFE_MS = 24 * 60 * 60 * 1000;
/** Longer than any token: an id has at most 255 characters, each at most six in JSON. */
const MAX_LENGTH = 8192;
/** 128 bits in base64url. */
const SIGNATURE_LENGTH = 22;
const PURPOSE = "halyard feature flags: exposure tokens 1";

/** The part of Better Auth's context that holds the application's secrets. */
export interface SecretHost {
  readonly secret: string;
  readonly secretConfig:
    | string
    | {
        readonly keys: ReadonlyMap<number, string>;
        readonly currentVersion: number;
        readonly legacySecret?: string;
      };
}

/** The current secret first, then the previous ones. */
export function secretsOf({ secret, secretConfig }: SecretHost): string[] {
  if (typeof secretConfig === "string") return [secretConfig || secret];
  const { keys, currentVersion, legacySecret } = secretConfig;
  const current = keys.get(currentVersion) ?? secret;
  return [...new Set([current, ...keys.values(), ...(legacySecret ? [legacySecret] : [])])];
}

export function createExposureTokens(secrets: readonly string[]): ExposureTokens {
  const signers = secrets.map((secret) => createSigner(createSigner(utf8(secret))(PURPOSE)));
  const [current] = signers;
  if (current === undefined) throw new Error("Exposure tokens need a secret.");

  return {
    sign(shown) {
      const fields = toBase64(asciiOf(fieldsOf(shown)));
      return `${fields}.${signatureOf(current, fields)}`;
    },
    read(token, nowMs) {
      if (typeof token !== "string" || token.length > MAX_LENGTH) return undefined;
      const dot = token.length - SIGNATURE_LENGTH - 1;
      if (dot < 1 || token[dot] !== "." || !/^[\w-]+$/.test(token.slice(0, dot))) return undefined;
      const fields = token.slice(0, dot);
      const signature = token.slice(dot + 1);
      if (!signers.some((signer) => isSame(signatureOf(signer, fields), signature))) return undefined;
      const shown = shownOf(JSON.parse(fromBase64(fields)));
      return shown !== undefined && nowMs - shown.atMs < LIFE_MS ? shown : undefined;
    },
  };
}

type Fields = [
  flagId: string,
  arm: string,
  byChance: 0 | 1,
  revision: number,
  atMs: number,
  tenant: string,
  /** 0: the user's id. 1: the anonymous id. Null: none. */
  subject: string | 0 | 1 | null,
  userId: string | null,
  anonymousId: string | null,
];

function fieldsOf(shown: ShownFlag): Fields {
  const { flagId, arm, byChance, revision, atMs, tenant, subject, userId, anonymousId } = shown;
  const unit = subject === undefined ? null : subject === userId ? 0 : subject === anonymousId ? 1 : subject;
  const ids = [unit, userId ?? null, anonymousId ?? null] as const;
  return [flagId, arm, byChance ? 1 : 0, revision, atMs, tenant, ...ids];
}

/** The fields are this server's own, but a later version may write others. */
function shownOf(fields: unknown): ShownFlag | undefined {
  if (!Array.isArray(fields)) return undefined;
  const [flagId, arm, byChance, revision, atMs, tenant, unit, userId, anonymousId] =
    fields as Partial<Fields>;
  if (typeof flagId !== "string" || typeof arm !== "string" || typeof tenant !== "string") return undefined;
  if (typeof revision !== "number" || typeof atMs !== "number") return undefined;
  const subject = unit === 0 ? userId : unit === 1 ? anonymousId : unit;
  return {
    flagId,
    arm,
    byChance: byChance === 1,
    revision,
    atMs,
    tenant,
    ...(typeof subject === "string" && { subject }),
    ...(typeof userId === "string" && { userId }),
    ...(typeof anonymousId === "string" && { anonymousId }),
  };
}

function signatureOf(signer: Signer, fields: string): string {
  return toBase64(String.fromCharCode(...signer(fields).subarray(0, 16)));
}

/** Takes the same time wherever the texts differ. */
function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

/** JSON with only ASCII characters. */
function asciiOf(fields: Fields): string {
  return JSON.stringify(fields).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function toBase64(bytes: string): string {
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(text: string): string {
  return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
