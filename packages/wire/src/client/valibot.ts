/** Entry point `@halyard/wire/client/valibot`: the same names as `@halyard/wire/client`. */
export { wsClient } from "./client.ts";
export type * from "./index.ts";
