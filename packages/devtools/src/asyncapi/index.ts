/** Entry point `@halyard/devtools/asyncapi`. */
export type { Declarations } from "@halyard/wire";
export { type AsyncApiOptions, type AsyncApiTopic, asyncApi } from "./async-api.ts";
export type * from "./document.ts";
export type { JsonSchema } from "./json-schema.ts";
