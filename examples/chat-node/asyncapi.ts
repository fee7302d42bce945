/** Prints the AsyncAPI document of the chat. */
import { asyncApi } from "@halyard/devtools/asyncapi";
import { createChat } from "./chat.ts";
import { users } from "./users.ts";

const document = await asyncApi(createChat(users).router, {
  title: "Chat",
  version: "1.0.0",
  servers: { local: { host: "localhost:3000", protocol: "ws" } },
});
console.log(JSON.stringify(document, null, 2));
