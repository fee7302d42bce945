/** Starts the chat: `npm start -w examples/chat-auth`. */
import { startApp } from "./app.ts";

const { url } = await startApp(
  process.env["CHAT_DATABASE"] ?? ":memory:",
  Number(process.env["PORT"] ?? 3000),
);
console.log(`The chat listens on ${url}.`);
