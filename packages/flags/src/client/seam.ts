/** Connects other entry points with the flags client of the same Better Auth client. Types only: pages without them pay little. */
import type { FlagDeclarations } from "../model/declared.ts";
import type { ClaimedContext } from "../model/evaluation.ts";
import type { FlagsPosition } from "../model/position.ts";
import type { ControlledFlagValues, FlagValues } from "./flag-values.ts";
import type { Transport } from "./transport.ts";

/** The state of a live subscription. */
export type LiveConnection = "connecting" | "live" | "polling" | "closed";

/** The body of a request for all flags, which has more than these. */
export type FlagsBody = { readonly context?: ClaimedContext; readonly environment?: string };

/** What the live client and the toolbar use of the flags client. */
export interface ClientSeam {
  /** Sends the requests of the client. */
  readonly transport: Transport;
  /** The client's own helper of the values. */
  readonly actions: { values(): FlagValues };
  /** The values, with what only the client itself may do. */
  readonly values: ControlledFlagValues;
  /** The flags of `defineFlags()`; empty without it. */
  readonly declared: FlagDeclarations;
  /** The body of a request for all flags that are not older than the position. */
  bodyOf(position: FlagsPosition): FlagsBody;
  /** The state of the last live subscription. Set by the live client. */
  live?: () => LiveConnection;
}

/** What has the seam: the store that Better Auth gives to all plugins of a client, and the result of `featureFlags.values()`. */
export interface SeamStore {
  /** Absent where the flags plugin is not installed. */
  $flags?: ClientSeam;
}
