/** A room is a Durable Object that hibernates while it is idle. Its sockets stay open. */
import { DurableObject } from "cloudflare:workers";
import { users } from "@halyard/example-chat-node/users";
import { createDurableObjectHandler } from "@halyard/wire/cloudflare";
import { createRouter } from "@halyard/wire/zod";
import { Said, Say } from "./messages.ts";

/** The data of a connection. It is the only state here that survives hibernation. */
interface Session {
  clientId: string;
  userId: string;
  lines: number;
}

/** One topic for the whole room, because other rooms are other objects. */
const ROOM = "room";

const router = createRouter<Session>({ limits: { maxPayloadBytes: 8_192 } })
  .onOpen((ctx) => ctx.subscribe(ROOM))
  .rpc(Say, async (ctx) => {
    const lines = ctx.data.lines + 1;
    ctx.assignData({ lines });
    await ctx.publish(ROOM, Said, { from: ctx.data.userId, text: ctx.payload.text });
    ctx.reply(Say.response, { lines });
  });

export class Room extends createDurableObjectHandler(router, {
  base: DurableObject,
  maxConnections: 500,
  authenticate(_request, { token }) {
    const userId = token === undefined ? undefined : users.get(token);
    return userId === undefined ? undefined : { userId, lines: 0 };
  },
}) {
  /** Called by the worker. */
  async announce(text: string): Promise<void> {
    await this.publish(ROOM, Said, { from: "(announcement)", text });
  }
}
