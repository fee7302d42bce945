/** The bootstrap: the values of all flags for one user, embedded in a page by the server or fetched by the client. */
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { ExposureTokenMap } from "./evaluation.ts";
import type { FlagsPosition } from "./position.ts";

/** The evaluated state of one flag. */
export type FlagState = {
  /** The value for the user. */
  readonly value: JsonValue;
  /** The variant's key, if the flag has variants. */
  readonly variant?: string;
  /** Why this value. */
  readonly reason?: EvaluationReason;
};

/** The flags of one user, as the server evaluated them. */
export type FlagsBootstrap = {
  /** By flag key. */
  readonly flags: { readonly [key: string]: FlagState };
  /** ISO 8601, UTC. */
  readonly evaluatedAt: string;
  /** The user that the flags were evaluated for. */
  readonly context?: {
    /** The signed-in user. */
    readonly userId?: string;
    /** The active organization. */
    readonly organizationId?: string;
    /** The id of an anonymous visitor. */
    readonly anonymousId?: string;
  };
  /** The revisions of the flags. The client sends them with its next request. */
  readonly position?: FlagsPosition;
  /** Tokens with which the client reports the flags that it shows. Flags without variants and rollout have none. */
  readonly exposures?: ExposureTokenMap;
  /** Present if the server could not check that these flags are the newest. */
  readonly stale?: true;
};

/** The cookie that stores a visitor's `anonymousId`. The client writes it; the server may read it. */
export const ANONYMOUS_ID_COOKIE: string = "halyard_anonymous_id";
/** Matches the id in a `Cookie` header or `document.cookie`. */
export const ANONYMOUS_ID: RegExp = new RegExp(`(?:^|; *)${ANONYMOUS_ID_COOKIE}=([\\w-]{1,128})(?:;|$)`);
