/** Entry point `@halyard/wire/client/zod`: the same names as `@halyard/wire/client`. */
export { wsClient } from "./client.ts";
export type * from "./index.ts";
