/** Entry point `@halyard/wire/unstable-devtools`: for `@halyard/devtools` only. It may change in every release. */
export { isLoopbackName, positiveOption } from "./protocol/checks.ts";
export { CONTROL, isReservedType } from "./protocol/control.ts";
export { topicsOf } from "./router/topics/topics.ts";
export { isMessageSchema, notASchema } from "./schema/message-schema.ts";
export type { JsonSchemaOptions } from "./schema/standard-schema.ts";
