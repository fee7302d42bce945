/** Entry point `@halyard/wire/client/zod`: the same names as `@halyard/wire/client`. */
export type * from "./index.ts";
export { attachCall, handle, joinChannel, startCall, wsClient } from "./index.ts";
