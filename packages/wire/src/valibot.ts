export { createRouter } from "./router/router.ts";
export {
  message,
  rpc,
  type ValibotConfig,
  type ValibotFields,
  type ValibotMessage,
  type ValibotStandard,
  v,
} from "./schema/valibot.ts";
