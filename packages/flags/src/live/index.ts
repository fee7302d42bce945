/** The public names of `@halyard/flags/live`: flag values that a wire router pushes to its connections. */
export { type LiveAuth, type LiveFlags, liveFlags } from "./live-flags.ts";
