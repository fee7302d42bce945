/** Entry point `@halyard/wire/asyncapi`. */
export type { Declarations } from "../router/observer.ts";
export { type AsyncApiOptions, type AsyncApiTopic, asyncApi } from "./async-api.ts";
export type * from "./document.ts";
export type { JsonSchema } from "./json-schema.ts";
