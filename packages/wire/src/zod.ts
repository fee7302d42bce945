/** Entry point `@halyard/wire/zod`: `createRouter`, and `message`, `rpc`, `channel` and `live` with Zod. */

// A package that exports messages or routers names these types in its declaration files.
export type * from "./index.ts";
export { createRouter } from "./router/router.ts";
export { createPublisher } from "./router/topics/standalone-publisher.ts";
export { live } from "./schema/build-channel.ts";
export {
  bytes,
  channel,
  message,
  rpc,
  type ZodChannelOptions,
  type ZodConfig,
  type ZodFields,
  type ZodJson,
  type ZodMessage,
  type ZodStandard,
  z,
} from "./schema/zod.ts";
