/** The public names of `@halyard/flags/remote`, for server processes without the database. */
export { createRemoteFlags } from "./create-remote-flags.ts";
export type {
  RemoteEvaluation,
  RemoteFlags,
  RemoteFlagsChange,
  RemoteFlagsOptions,
  RemoteFlagsState,
  RemoteReadOptions,
} from "./remote-flags.ts";
