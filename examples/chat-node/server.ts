/** The chat on Node. */
import { createInspector } from "@halyard/devtools/inspector";
import { serve } from "@halyard/wire/node";
import { createChat } from "./chat.ts";
import { users } from "./users.ts";

const { router, authenticate } = createChat(users);
const inspectorPort = process.env["INSPECTOR_PORT"];
if (inspectorPort !== undefined) {
  const address = await createInspector(router, { enabled: true }).listen({ port: Number(inspectorPort) });
  console.log(`The inspector is on ${address}.`);
}
const { port } = await serve(router, {
  port: Number(process.env["PORT"] ?? 3000),
  host: "localhost",
  authenticate,
});
console.log(`The chat is open on ws://localhost:${port}. Stop it with kill or Ctrl+C.`);
