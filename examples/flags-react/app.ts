/** Starts the HTTP server: Better Auth under `/api/auth`, the shop's WebSocket, the console, and the page with the caller's flags. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createConsole } from "@halyard/console";
import { closeFeatureFlags, createServerFlags } from "@halyard/flags";
import { createNodeHandler } from "@halyard/wire/node";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { createServer as createVite, type ViteDevServer } from "vite";
import { type Auth, createAuth } from "./auth.ts";
import type { Database } from "./database.ts";
import { seed } from "./seed.ts";
import { flags as declared } from "./src/flags.ts";
import type { Viewer } from "./src/viewer.ts";
import { createShopSocket, type ShopSocket } from "./stock.ts";

export interface App {
  readonly origin: string;
  readonly auth: Auth;
  stop(): Promise<void>;
}

export async function startApp(database: Database, port: number): Promise<App> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "localhost", resolve);
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const auth = await createAuth(origin, database.driver);
  await seed(auth);
  const vite = await createVite({
    root: import.meta.dirname,
    logLevel: "error",
    server: { middlewareMode: true, hmr: false, ws: false },
  });
  const shop = createShopSocket(auth);
  const { router, authenticate } = shop;
  const sockets = createNodeHandler(router, { path: "/socket", authenticate });
  server.on("upgrade", sockets.upgrade);
  const listener = getRequestListener(createRoutes(auth, vite, shop).fetch);
  // Vite serves scripts and styles. The application handles all other requests.
  server.on("request", (request, response) => {
    vite.middlewares(request, response, () => void listener(request, response));
  });
  return {
    origin,
    auth,
    async stop() {
      await sockets.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await vite.close();
      await closeFeatureFlags(auth);
      await database.close();
    },
  };
}

function createRoutes(auth: Auth, vite: ViteDevServer, shop: ShopSocket): Hono {
  const flags = createServerFlags(auth, declared);
  const routes = new Hono();
  routes.on(["GET", "POST", "PATCH", "DELETE"], "/api/auth/*", (context) => auth.handler(context.req.raw));
  const flagsConsole = createConsole(auth, { basePath: "/console", live: "/socket" });
  routes.all("/console/*", (context) => flagsConsole.fetch(context.req.raw));
  routes.get("/", async (context) => {
    const { headers } = context.req.raw;
    // The session, or the anonymous visitor's cookie, identifies the caller.
    const [bootstrap, viewer] = await Promise.all([flags.bootstrap({ headers }), readViewer(auth, headers)]);
    const { render } = await vite.ssrLoadModule("/src/entry-server.tsx");
    const rendered = { bootstrap, viewer, stock: shop.levels() };
    return context.html(document(render(rendered), serialize(rendered)));
  });
  return routes;
}

async function readViewer(auth: Auth, headers: Headers): Promise<Viewer | undefined> {
  const session = await auth.api.getSession({ headers });
  if (session === null) return undefined;
  const organizations = await auth.api.listOrganizations({ headers });
  return {
    email: session.user.email,
    organizations: organizations.map(({ id, name }) => ({ id, name })),
    active: session.session.activeOrganizationId ?? undefined,
  };
}

/** JSON that cannot end its script element. */
function serialize(rendered: object): string {
  return JSON.stringify(rendered).replaceAll("<", "\\u003c");
}

function document(html: string, rendered: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>The Chandlery</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/src/style.css" />
  </head>
  <body>
    <div id="root">${html}</div>
    <script type="application/json" id="rendered">${rendered}</script>
    <script type="module" src="/src/entry-client.tsx"></script>
  </body>
</html>
`;
}
