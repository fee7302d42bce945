/** A terminal client: `npm run client -- ada-token general`. */
import { createInterface } from "node:readline";
import { WsError } from "@halyard/wire";
import { wsClient } from "@halyard/wire/client";
import { Export, ExportProgress, IsTyping, Join, Said, Say, Typing } from "./messages.ts";

const TYPING_EVERY_MS = 2_000;

const [token = "", firstRoom = "general"] = process.argv.slice(2);
let room = firstRoom;

const client = wsClient({
  url: process.env["CHAT_URL"] ?? "ws://localhost:3000",
  auth: { getToken: () => token, attach: "protocol" },
});
client.on(Said, ({ room: where, from, text }) => console.log(`[${where}] ${from}: ${text}`));
client.on(IsTyping, ({ room: where, from }) => console.log(`[${where}] ${from} is typing …`));
// Subscriptions end with the connection, so the client joins the room on every open.
client.onState((state) => {
  console.log(`(${state})`);
  if (state === "open") void attempt(() => join(room));
});

// The server had lost the broker for a while: read the missed messages.
client.onGap(() => void attempt(() => join(room)));

async function join(name: string): Promise<void> {
  const { payload } = await client.request(Join, { room: name });
  room = name;
  console.log(
    `You are in ${room}. Commands: /join <room>, /export, /quit. Any other line is sent as a message.`,
  );
  for (const { from, text } of payload.recent) console.log(`[${room}] ${from}: ${text}`);
}

async function exportRoom(): Promise<void> {
  const answer = client.request(Export, { room });
  answer.onProgress((data) => {
    const { done, total } = ExportProgress.parse(data);
    console.log(`${done} of ${total}`);
  });
  const { payload } = await answer;
  for (const { from, text } of payload.lines) console.log(`${from}\t${text}`);
}

async function handle(line: string): Promise<void> {
  const [command, argument = ""] = line.trim().split(/\s+/);
  if (command === "/quit") terminal.close();
  else if (command === "/join") await join(argument);
  else if (command === "/export") await exportRoom();
  else if (line.trim() !== "") await client.request(Say, { room, text: line.trim() });
}

async function attempt(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    const { code, message, retryAfterMs } = WsError.wrap(error, "INTERNAL");
    console.log(
      `${code}: ${message}${retryAfterMs === undefined ? "" : ` Try again in ${retryAfterMs} ms.`}`,
    );
  }
}

await attempt(() => client.connect());

// Only now, because earlier input would be sent before the first join.
const terminal = createInterface({ input: process.stdin, output: process.stdout });
terminal.on("line", (line) => void attempt(() => handle(line)));
terminal.on("close", () => void client.close());
if (client.state === "closed") terminal.close();

let typedAt = Number.NEGATIVE_INFINITY;
process.stdin.on("keypress", () => {
  if (performance.now() - typedAt < TYPING_EVERY_MS || !client.isConnected) return;
  typedAt = performance.now();
  client.send(Typing, { room });
});
