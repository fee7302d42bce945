/** All flags as a page gets them from the server: what a client is started with, and what it fetches. */
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";

/** What is known of one flag. */
export type FlagState = {
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason?: EvaluationReason;
};

export type FlagsBootstrap = {
  readonly flags: { readonly [key: string]: FlagState };
  /** ISO 8601, UTC. */
  readonly evaluatedAt: string;
  /** Whom the flags were evaluated for. */
  readonly context?: {
    readonly userId?: string;
    readonly organizationId?: string;
    readonly anonymousId?: string;
  };
};

/** The cookie that keeps a visitor's `anonymousId`; the page writes it, and the server may read it. */
export const ANONYMOUS_ID_COOKIE: string = "halyard_anonymous_id";
/** Finds the id in a line of cookies. */
export const ANONYMOUS_ID: RegExp = new RegExp(`(?:^|; *)${ANONYMOUS_ID_COOKIE}=([\\w-]{1,128})(?:;|$)`);
