/** A terminal client: `npm run client -- ws://127.0.0.1:8787 ada-token general`. */
import { createInterface } from "node:readline";
import { WsError } from "@halyard/wire";
import { wsClient } from "@halyard/wire/client";
import { Said, Say } from "./messages.ts";

const [url = "ws://127.0.0.1:8787", token = "", room = "general"] = process.argv.slice(2);

const client = wsClient({
  url: `${url}/rooms/${encodeURIComponent(room)}`,
  auth: { getToken: () => token, attach: "protocol" },
});
client.on(Said, ({ from, text }) => console.log(`${from}: ${text}`));
client.onState((state) => console.log(`(${state})`));

async function attempt(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    const { code, message } = WsError.wrap(error, "INTERNAL");
    console.log(`${code}: ${message}`);
  }
}

await attempt(() => client.connect());
const terminal = createInterface({ input: process.stdin });
terminal.on("line", (line) => void attempt(() => client.request(Say, { text: line.trim() })));
terminal.on("close", () => void client.close());
if (client.state === "closed") terminal.close();
