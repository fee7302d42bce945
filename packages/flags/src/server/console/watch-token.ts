/** Watch tokens: a user may learn over the socket when the flags of a tenant change. The permission is checked over HTTP. */
import { createSeal, type Seal } from "../evaluation/sealed.ts";

/** What a token says. */
export interface WatchGrant {
  readonly tenant: string;
  readonly userId: string;
  /** Wall-clock time. */
  readonly untilMs: number;
}

export interface WatchTokens {
  sign(grant: WatchGrant): string;
  /** Undefined if this server did not sign the token, or if it has expired. */
  read(token: unknown, nowMs: number): WatchGrant | undefined;
}

/** A user who loses the permission learns of changes for at most this time. The console renews its token every minute. */
export const WATCH_MS = 120_000;
const PURPOSE = "halyard feature flags: watch tokens 1";

type Fields = [tenant: string, userId: string, untilMs: number];

export function createWatchTokens(secrets: readonly string[]): WatchTokens {
  const seal: Seal<Fields> = createSeal(secrets, PURPOSE);
  return {
    sign: ({ tenant, userId, untilMs }) => seal.sign([tenant, userId, untilMs]),
    read(token, nowMs) {
      const fields = seal.open(token);
      if (!Array.isArray(fields)) return undefined;
      const [tenant, userId, untilMs] = fields as Partial<Fields>;
      if (typeof tenant !== "string" || typeof userId !== "string" || typeof untilMs !== "number")
        return undefined;
      return nowMs < untilMs ? { tenant, userId, untilMs } : undefined;
    },
  };
}
