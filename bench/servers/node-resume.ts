/** A server with channels that have history. Its first argument is the number of channels, the second that of kept messages in each. */
import { serve } from "@halyard/wire/node";
import { channel, createRouter, message, rpc, z } from "@halyard/wire/zod";

const [rooms, kept] = process.argv.slice(2).map(Number);
const Said = message("SAID", { text: z.string() });
const Room = channel("room:{id}", {
  params: { id: z.string() },
  events: [Said],
  history: { size: 1_000, ttlMs: 3_600_000 },
});
const Say = rpc("SAY", { room: z.string() }, "SAY_OK", undefined);
const text = "x".repeat(150);

const router = createRouter();
router.channel(Room, { authorize: () => true });
router.rpc(Say, async (ctx) => {
  await router.to(Room, { id: ctx.payload.room }).publish(Said, { text });
  ctx.reply(Say.response);
});
for (let room = 0; room < (rooms ?? 0); room++)
  for (let i = 0; i < (kept ?? 0); i++) await router.to(Room, { id: String(room) }).publish(Said, { text });

const { port } = await serve(router, { port: 0, host: "127.0.0.1", handleSignals: false });
console.log(JSON.stringify({ port }));
