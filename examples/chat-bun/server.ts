/** The chat on Bun. */

import { createChat } from "@halyard/example-chat-node/chat";
import { users } from "@halyard/example-chat-node/users";
import { serve } from "@halyard/wire/bun";

const { router, authenticate } = createChat(users);
const { port } = await serve(router, {
  port: Number(process.env["PORT"] ?? 3000),
  host: "localhost",
  authenticate,
});
console.log(`The chat is open on ws://localhost:${port}. Stop it with kill or Ctrl+C.`);
