/** Entry point `@halyard/wire/client/valibot`: the same names as `@halyard/wire/client`. */
export { joinChannel } from "./channels.ts";
export { wsClient } from "./client.ts";
export type * from "./index.ts";
