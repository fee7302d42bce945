/** `npm start`: the chat on this machine, until Ctrl+C. */
import { startLocally } from "./local.ts";

const worker = await startLocally();
console.log(`The chat is open on ${worker.url}. Stop it with Ctrl+C.`);
console.log(`  npm run client -w examples/chat-cloudflare -- ${worker.url} ada-token general`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void worker.stop());
