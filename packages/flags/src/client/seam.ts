/** Connects the live client with the flags client of the same Better Auth client, which gives both the same store object. */
import type { FlagsPosition } from "../model/position.ts";
import type { FlagValues } from "./flag-values.ts";
import type { Transport } from "./transport.ts";

/** What the live client uses of the flags client. */
export interface LiveSeam {
  readonly transport: Transport;
  readonly actions: { values(): FlagValues };
  /** The body of a request for all flags that are not older than the position. */
  bodyOf(position: FlagsPosition): object;
}

export const seams: WeakMap<object, LiveSeam> = new WeakMap();
