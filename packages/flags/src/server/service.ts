/** What every operation works with: the store of one auth instance, and the host's options. */
import type { FlagStore } from "../store/store.ts";
import type { FeatureFlagsOptions } from "./options.ts";

export interface Service {
  readonly store: FlagStore;
  readonly options: FeatureFlagsOptions;
  /** Says it in the log, the first time it is said. */
  warnOnce(message: string): void;
}
