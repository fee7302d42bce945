/** Entry point `@halyard/wire/valibot`: `createRouter`, and `message`, `rpc`, `channel` and `live` with Valibot. */

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
  type ValibotChannelOptions,
  type ValibotConfig,
  type ValibotFields,
  type ValibotJson,
  type ValibotMessage,
  type ValibotStandard,
  v,
} from "./schema/valibot.ts";
