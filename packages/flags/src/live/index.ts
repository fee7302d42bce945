/** The public names of `@halyard/flags/live`: values pushed over a wire router, and definitions for remote processes. */
export type { DefinitionsData } from "./definitions/definitions-reader.ts";
export {
  type AuthWithDefinitions,
  type FlagDefinitions,
  flagDefinitions,
} from "./definitions/flag-definitions.ts";
export { type LiveAuth, type LiveFlags, liveFlags } from "./live-flags.ts";
/** For `@halyard/console`. They may change between minor versions. */
export { Changed, Watch } from "./watch-messages.ts";
