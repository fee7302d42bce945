/** Exposure tokens: what the server showed to a user, signed, so that it can be reported later without a second evaluation. */
import { createSeal } from "./sealed.ts";

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
  readonly environment?: string | undefined;
  /** Wall-clock time. */
  readonly atMs: number;
}

export interface ExposureTokens {
  sign(shown: ShownFlag): string;
  /** Undefined if this server did not sign the token, or more than 24 hours ago. */
  read(token: unknown, nowMs: number): ShownFlag | undefined;
}

const LIFE_MS = 24 * 60 * 60 * 1000;
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
  const seal = createSeal<Fields>(secrets, PURPOSE);
  return {
    sign: (shown) => seal.sign(fieldsOf(shown)),
    read(token, nowMs) {
      const shown = shownOf(seal.open(token));
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
  environment: string | null,
];

function fieldsOf(shown: ShownFlag): Fields {
  const { flagId, arm, byChance, revision, atMs, tenant, subject, userId, anonymousId, environment } = shown;
  const unit = subject === undefined ? null : subject === userId ? 0 : subject === anonymousId ? 1 : subject;
  const ids = [unit, userId ?? null, anonymousId ?? null, environment ?? null] as const;
  return [flagId, arm, byChance ? 1 : 0, revision, atMs, tenant, ...ids];
}

/** The fields are this server's own, but a later version may write others. */
function shownOf(fields: unknown): ShownFlag | undefined {
  if (!Array.isArray(fields)) return undefined;
  const [flagId, arm, byChance, revision, atMs, tenant, unit, userId, anonymousId, environment] =
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
    ...(typeof environment === "string" && { environment }),
  };
}
