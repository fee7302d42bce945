export { createRouter } from "./router/router.ts";
export {
  message,
  rpc,
  type ZodConfig,
  type ZodFields,
  type ZodMessage,
  type ZodStandard,
  z,
} from "./schema/zod.ts";
