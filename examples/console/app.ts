/** Starts the HTTP server: Better Auth, the console, and a page of the example shop. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createConsole } from "@halyard/console";
import { closeFeatureFlags } from "@halyard/flags";
import { toNodeHandler } from "@halyard/flags/node";
import { fromNodeHeaders } from "better-auth/node";
import { type Auth, createAuth } from "./auth.ts";
import type { Database } from "./database.ts";
import { type SeedSize, seed } from "./seed.ts";

const CONSOLE = "/console";
/** Evaluations that the example makes by itself, so that Activity moves. */
const TRAFFIC_MS = 1_000;

export interface App {
  readonly origin: string;
  readonly consoleUrl: string;
  stop(): Promise<void>;
}

export async function startApp(database: Database, port: number, size?: SeedSize): Promise<App> {
  let handle = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(503).end();
  };
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "localhost", resolve);
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;

  // The example data is written by an instance of its own, because its clock is in the past.
  const past = await createAuth(origin, database.driver);
  const customers = await seed(past, size);
  await closeFeatureFlags(past);
  const auth = await createAuth(origin, database.driver);

  const answerAuth = toNodeHandler(auth);
  const flagsConsole = createConsole(auth, { basePath: CONSOLE });
  handle = (request, response) => {
    const { url = "/" } = request;
    const handled = url.startsWith("/api/auth/")
      ? answerAuth(request, response)
      : url.startsWith(CONSOLE)
        ? flagsConsole.node(request, response)
        : answerShop(auth, request, response);
    handled.catch((error: unknown) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };
  const traffic = setInterval(() => void visitShop(auth, customers).catch(console.error), TRAFFIC_MS);

  return {
    origin,
    consoleUrl: origin + CONSOLE,
    async stop() {
      clearInterval(traffic);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await closeFeatureFlags(auth);
      await database.close();
    },
  };
}

const KEYS = [
  "new-checkout",
  "search-ranking",
  "banner-text",
  "free-shipping-from",
  "dark-mode",
  "gift-cards",
];

/** One customer opens the shop. */
async function visitShop(auth: Auth, customers: readonly string[]): Promise<void> {
  const userId = customers[Math.floor(Math.random() * customers.length)];
  if (userId === undefined) return;
  await auth.api.evaluateFeatureFlags({
    body: { flagKeys: KEYS, context: { userId }, select: "value", track: true },
  });
}

async function answerShop(auth: Auth, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { flags } = await auth.api.evaluateFeatureFlags({
    headers: fromNodeHeaders(request.headers),
    body: { flagKeys: KEYS, select: "value" },
  });
  const lines = Object.entries(flags).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
  response.end(`The shop, as you get it\n\n${lines.join("\n")}\n`);
}
