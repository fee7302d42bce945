/** The checks of a message that is registered with a router. */
import { isReservedType } from "../protocol/control.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { isMessageSchema, notASchema } from "../schema/message-schema.ts";
import { isDevelopment } from "./options.ts";
import type { Routes } from "./routes.ts";

/** Throws when the message cannot be registered; warns in development when its type has a handler. */
export function checkRegistration(schema: AnyMessageSchema, kind: "event" | "rpc", routes: Routes): void {
  if (!isMessageSchema(schema)) {
    throw new TypeError(notASchema(kind === "rpc" ? "router.rpc()" : "router.on()", schema));
  }
  if (isReservedType(schema.type)) {
    throw new TypeError(
      `The message type "${schema.type}" is reserved: types beginning with "$ws:" belong to the protocol. Choose another name.`,
    );
  }
  if (kind === "rpc" && schema.response === undefined) {
    throw new TypeError(
      `${schema.type} has no response, so rpc() cannot register it. Declare one with message("${schema.type}", { response: { … } }), or use on().`,
    );
  }
  if (routes.has(schema.type) && isDevelopment()) {
    console.warn(
      `[halyard] ${schema.type} is registered twice on one router; the later handler replaces the earlier one. Remove one of them, or call router.off() first.`,
    );
  }
}
