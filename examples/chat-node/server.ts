/** The chat on Node. */
import { serve } from "@halyard/wire/node";
import { createChat } from "./chat.ts";
import { users } from "./users.ts";

const { router, authenticate } = createChat(users);
const { port } = await serve(router, {
  port: Number(process.env["PORT"] ?? 3000),
  host: "localhost",
  authenticate,
});
console.log(`The chat is open on ws://localhost:${port}. Stop it with kill or Ctrl+C.`);
