/** Starts the server and the page. */
import { createServer } from "vite";
import { startServer } from "./server.ts";

const server = await startServer(Number(process.env["PORT"] ?? 3000));
process.env["PORT"] = String(server.port);
const site = await createServer({ root: import.meta.dirname });
await site.listen();
site.printUrls();
