/** Starts the HTTP server: Better Auth with feature flags under `/api/auth`, and one page that uses the flags. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createConsole } from "@halyard/console";
import { closeFeatureFlags } from "@halyard/flags";
import { toNodeHandler } from "@halyard/flags/node";
import { fromNodeHeaders } from "better-auth/node";
import { type Auth, createAuth } from "./auth.ts";
import type { Database } from "./database.ts";
import { type Organizations, seed } from "./seed.ts";

export interface App {
  readonly origin: string;
  readonly auth: Auth;
  readonly organizations: Organizations;
  stop(): Promise<void>;
}

export async function startApp(database: Database, port: number): Promise<App> {
  let handle = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(503).end();
  };
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "localhost", resolve);
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;

  const auth = await createAuth(origin, database.driver);
  const organizations = await seed(auth);

  const authHandler = toNodeHandler(auth);
  const flagsConsole = createConsole(auth, { basePath: "/admin/flags" });
  handle = (request, response) => {
    const answer = request.url?.startsWith("/admin/flags")
      ? flagsConsole.node
      : request.url?.startsWith("/api/auth/")
        ? authHandler
        : answerPage.bind(undefined, auth);
    const handled = answer(request, response);
    handled.catch((error: unknown) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };

  return {
    origin,
    auth,
    organizations,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await closeFeatureFlags(auth);
      await database.close();
    },
  };
}

/** Evaluates the flags for the caller of the request, with defaults for flags that do not exist. */
async function answerPage(auth: Auth, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { flags } = await auth.api.evaluateFeatureFlags({
    headers: fromNodeHeaders(request.headers),
    body: {
      flagKeys: ["greeting", "new-editor", "search"],
      defaults: { greeting: "Hi", "new-editor": false, search: "keyword" },
      select: "value",
    },
  });
  const editor = flags["new-editor"] === true ? "the new editor" : "the current editor";
  response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${flags["greeting"]}! You get ${editor} and ${flags["search"]} search.\n`);
}
