/** Layers: the organization's flags and the global ones, each with the user they are evaluated for. */
import type { EvaluationContext } from "../../engine/definition.ts";
import type { Snapshot } from "../../store/flag-store.ts";
import type { TrustedSubject } from "../trusted/trusted-attributes.ts";

/** For whom the flags of one tenant are evaluated. */
export interface LayerContext {
  readonly tenant: string;
  readonly context: EvaluationContext;
  /** Whose trusted attributes the context reads; undefined for an anonymous visitor, who has none. */
  readonly subject: TrustedSubject | undefined;
}

/** One for the organization's flags, if the request has an organization, then one for the global flags. */
export type Layers<One> = readonly [first: One, global?: One | undefined];

/** The flags of one tenant. */
export interface FlagLayer {
  readonly tenant: string;
  readonly snapshot: Snapshot;
}

/** The flags of one tenant, and for whom they are evaluated. */
export interface Layer extends FlagLayer, LayerContext {}
