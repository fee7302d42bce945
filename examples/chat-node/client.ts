/** A terminal client: `npm run client -- ada-token general`. */
import { createInterface } from "node:readline";
import { WsError } from "@halyard/wire";
import { type ChannelRoom, joinChannel, wsClient } from "@halyard/wire/client";
import { Hints, IsTyping, Room, Said, Say, Typing } from "./messages.ts";

const TYPING_EVERY_MS = 2_000;
const RECENT_LINES = 20;

const [token = "", firstRoom = "general"] = process.argv.slice(2);
let room = firstRoom;
let joined: ChannelRoom[] = [];

const client = wsClient({
  url: process.env["CHAT_URL"] ?? "ws://localhost:3000",
  auth: { getToken: () => token, attach: "protocol" },
});
client.onState((state) => console.log(`(${state})`));

async function join(name: string): Promise<void> {
  for (const before of joined) before.leave();
  room = name;
  // The client joins again by itself after a lost connection, and gets what it missed.
  const lines = joinChannel(client, Room, { room }, { last: RECENT_LINES });
  lines.on(Said, ({ from, text }) => console.log(`[${name}] ${from}: ${text}`));
  lines.onGap(() => console.log(`[${name}] (some messages are missing)`));
  const hints = joinChannel(client, Hints, { room });
  hints.on(IsTyping, ({ from }) => console.log(`[${name}] ${from} is typing …`));
  joined = [lines, hints];
  await lines.joined;
  console.log(`You are in ${room}. Commands: /join <room>, /quit. Any other line is sent as a message.`);
}

async function handle(line: string): Promise<void> {
  const [command, argument = ""] = line.trim().split(/\s+/);
  if (command === "/quit") terminal.close();
  else if (command === "/join") await join(argument);
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

await attempt(async () => {
  await client.connect();
  await join(room);
});

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
