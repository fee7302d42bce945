/** The public names of `@halyard/flags/client`. */
export type { FlagState, FlagsBootstrap } from "../model/bootstrap.ts";
export {
  type BooleanFlagKey,
  defineFlags,
  type FlagDeclaration,
  type FlagDeclarations,
  type FlagKey,
  type FlagValue,
  type FlagValueMap,
  type JsonObject,
  type JsonValue,
  type ReadValue,
  type ValueOf,
  type VariantKey,
  type VariantOf,
} from "../model/declared.ts";
export type { ClaimedContext } from "../model/evaluation.ts";
export type { FeatureFlagsActions, FeatureFlagsClientOptions } from "./actions.ts";
export { type FeatureFlagsClientPlugin, featureFlagsClient } from "./client.ts";
export type { TrackBatchResult, TrackItem, TrackOptions, TrackResult } from "./events.ts";
export type { FlagsListener, FlagsReading, FlagsStatus, FlagValues } from "./flag-values.ts";
export type { ClientError, ClientResult } from "./transport.ts";
