/** Entry point `@halyard/wire/client/zod`: the same names as `@halyard/wire/client`. */
export { attachCall, startCall } from "./calls.ts";
export { joinChannel } from "./channels.ts";
export { wsClient } from "./client.ts";
export { handle } from "./handle.ts";
export type * from "./index.ts";
