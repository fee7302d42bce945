/** Elysia on Bun: TypeBox for inbound messages, no check of outbound messages, Bun's topics. */
import { Elysia, t } from "elysia";
import { encodeEvent } from "./shared/by-hand.ts";
import { collectOnSignal } from "./shared/collect.ts";

const strict = { additionalProperties: false };
const payload = t.Object(
  {
    room: t.String(),
    user: t.String(),
    text: t.String({ maxLength: 500 }),
    seq: t.Integer(),
    ok: t.Boolean(),
  },
  strict,
);
const meta = t.Object({ correlationId: t.Optional(t.String()), timestamp: t.Optional(t.Number()) }, strict);
const body = t.Object({ type: t.String(), meta, payload: t.Optional(payload) }, strict);

collectOnSignal();
const app = new Elysia({ websocket: { perMessageDeflate: false } })
  .ws("/ws", {
    body,
    message(socket, frame) {
      if (frame.type === "ECHO") {
        const { correlationId } = frame.meta;
        socket.send({
          type: "ECHO_OK",
          meta: { correlationId, timestamp: Date.now() },
          payload: frame.payload,
        });
      } else if (frame.type === "PUB") app.server?.publish("t", encodeEvent(frame.payload));
      else if (frame.type === "SUB") socket.subscribe("t");
      else throw new Error("This server supports only ECHO, SUB and PUB.");
    },
  })
  .listen({ port: 0, hostname: "127.0.0.1" });
console.log(JSON.stringify({ port: app.server?.port }));
