import { createDurableObjectHandler, createRoomRoutes } from "@halyard/wire/cloudflare";
import { createRouter, message, z } from "@halyard/wire/zod";

const News = message("NEWS", { text: z.string() });

export class Room extends createDurableObjectHandler(createRouter()) {
  announce(text: string) {
    return this.publish("news", News, { text });
  }
}
export const Plain = createDurableObjectHandler(createRouter());
export const rooms = createRoomRoutes();
