/** The bootstrap: the values of all flags for one user, embedded in a page by the server or fetched by the client. */
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { FlagsPosition } from "./position.ts";

/** The evaluated state of one flag. */
export type FlagState = {
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason?: EvaluationReason;
};

export type FlagsBootstrap = {
  readonly flags: { readonly [key: string]: FlagState };
  /** ISO 8601, UTC. */
  readonly evaluatedAt: string;
  /** The user that the flags were evaluated for. */
  readonly context?: {
    readonly userId?: string;
    readonly organizationId?: string;
    readonly anonymousId?: string;
  };
  /** The revisions of the flags. The client sends them with its next request. */
  readonly position?: FlagsPosition;
  /** Present if the server could not check that these flags are the newest. */
  readonly stale?: true;
};

/** The cookie that stores a visitor's `anonymousId`. The client writes it; the server may read it. */
export const ANONYMOUS_ID_COOKIE: string = "halyard_anonymous_id";
/** Matches the id in a `Cookie` header or `document.cookie`. */
export const ANONYMOUS_ID: RegExp = new RegExp(`(?:^|; *)${ANONYMOUS_ID_COOKIE}=([\\w-]{1,128})(?:;|$)`);
