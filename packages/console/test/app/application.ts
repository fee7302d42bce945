/** An application with the console built from its sources, on a real database, and a browser that opens it. */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { apiKey } from "@better-auth/api-key";
import {
  closeFeatureFlags,
  type FeatureFlagsOptions,
  featureFlagStatements,
  featureFlags,
  makeFeatureFlagAdmin,
} from "@halyard/flags";
import { liveFlags } from "@halyard/flags/live";
import { createPostgresDatabase } from "@halyard/services";
import { openPool } from "@halyard/services/postgres-pool";
import { createRouter } from "@halyard/wire";
import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { createNodeHandler } from "@halyard/wire/node";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { admin, organization } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { adminAc, defaultStatements, userAc } from "better-auth/plugins/admin/access";
import type { Pool } from "pg";
import { build } from "vite";
import { createConsoleFrom } from "../../src/server/create-console.ts";

const BASE = "/ops/flags";
const LIVE_BASE = "/ops/live-flags";
const LIVE = "/live";
export const PASSWORD = "correct horse battery";

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

/** The type is inferred, for the types of `auth.api`. */
function createAuth(baseURL: string, database: Pool, flags: FeatureFlagsOptions) {
  const ac = createAccessControl({ ...defaultStatements, ...featureFlagStatements });
  return betterAuth({
    baseURL,
    database,
    secret: "a secret that is only good enough for tests, which is all it does",
    emailAndPassword: {
      enabled: true,
      // Real password hashing takes a large part of a second.
      password: {
        hash: async (password) => `plain:${password}`,
        verify: async ({ hash, password }) => hash === `plain:${password}`,
      },
    },
    user: { additionalFields: { plan: { type: "string", required: false, input: false } } },
    logger: { disabled: true },
    telemetry: { enabled: false },
    plugins: [
      admin({
        ac,
        roles: {
          admin: ac.newRole({ ...adminAc.statements }),
          user: ac.newRole({ ...userAc.statements }),
          reader: ac.newRole({ featureFlag: ["read"] }),
          auditor: ac.newRole({ featureFlag: ["read", "audit"] }),
        },
      }),
      organization(),
      apiKey(),
      featureFlags({ trusted: { user: ["plan"] }, environments: { default: "production" }, ...flags }),
    ],
  });
}

export type Auth = ReturnType<typeof createAuth>;

export interface Application {
  readonly auth: Auth;
  /** The console, which polls. */
  readonly url: string;
  /** The same console with the option `live`. */
  readonly liveUrl: string;
  /** Requests to the console with the option `live`, by path. */
  readonly liveRequests: readonly string[];
  /** Signs a user up. */
  account(name: string, options?: { role?: string; plan?: string }): Promise<Account>;
  setRole(account: Account, role: string): Promise<void>;
  /** Deletes the user. */
  remove(account: Account): Promise<void>;
  /** While true, the server closes every connection without a response. */
  setLost(isLost: boolean): void;
  /** While true, there is no WebSocket. */
  setSocketsLost(isLost: boolean): void;
  close(): Promise<void>;
}

let built: Promise<string> | undefined;

/** Builds the application into a folder of its own, once per test file. */
export function buildApp(): Promise<string> {
  built ??= (async () => {
    const outDir = mkdtempSync(join(tmpdir(), "halyard-console-"));
    const root = fileURLToPath(new URL("../../app/", import.meta.url));
    // Vitest sets NODE_ENV to "test", with which React's development build would be bundled.
    const { NODE_ENV = "test" } = process.env;
    process.env["NODE_ENV"] = "production";
    await build({
      configFile: join(root, "vite.config.ts"),
      root,
      logLevel: "error",
      build: { outDir, emptyOutDir: true },
    });
    process.env["NODE_ENV"] = NODE_ENV;
    return outDir;
  })();
  return built;
}

/** `fill` writes to the new tables before the application starts. */
export async function startApplication(
  flags: FeatureFlagsOptions = {},
  fill?: (database: Pool) => Promise<void>,
): Promise<Application> {
  const [folder, { url: databaseUrl, drop }] = await Promise.all([buildApp(), createPostgresDatabase()]);
  const pool = openPool({ connectionString: databaseUrl, max: 5 });
  let isLost = false;
  let handle: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  const server = createServer((request, response) => {
    if (isLost) request.socket.destroy();
    else void handle?.(request, response);
  });
  const origin = await listen(server);
  const auth = createAuth(origin, pool, flags);
  await (await getMigrations(auth.options)).runMigrations();
  await fill?.(pool);
  const load = () => import(join(folder, "content.js"));
  const polling = createConsoleFrom(load, auth, { basePath: BASE });
  const live = createConsoleFrom(load, auth, { basePath: LIVE_BASE, live: LIVE });
  const answer = toNodeHandler(auth);
  const liveRequests: string[] = [];
  handle = (request, response) => {
    const { url = "/" } = request;
    if (url.startsWith(BASE)) return polling.node(request, response);
    if (!url.startsWith(LIVE_BASE)) return answer(request, response);
    liveRequests.push(url.slice(LIVE_BASE.length));
    return live.node(request, response);
  };
  const router = createRouter<SessionData>();
  liveFlags(router, auth);
  const wire = createNodeHandler(router, { path: LIVE, authenticate: betterAuthSession(auth) });
  const sockets = new Set<Duplex>();
  let areSocketsLost = false;
  server.on("upgrade", (request, socket, head) => {
    if (areSocketsLost) return void socket.destroy();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    wire.upgrade(request, socket, head);
  });

  return {
    auth,
    url: origin + BASE,
    liveUrl: origin + LIVE_BASE,
    liveRequests,
    async account(name, { role, plan } = {}) {
      const email = `${name.toLowerCase().replaceAll(" ", ".")}@example.com`;
      const { user } = await auth.api.signUpEmail({ body: { name, email, password: PASSWORD } });
      const { internalAdapter } = await auth.$context;
      if (plan !== undefined) await internalAdapter.updateUser(user.id, { plan });
      if (role === "admin") await makeFeatureFlagAdmin(auth, email);
      else if (role !== undefined) await internalAdapter.updateUser(user.id, { role });
      return { id: user.id, name, email };
    },
    async setRole({ id }, role) {
      await (await auth.$context).internalAdapter.updateUser(id, { role });
    },
    async remove({ id }) {
      await (await auth.$context).internalAdapter.deleteUser(id);
    },
    setLost(next) {
      isLost = next;
    },
    setSocketsLost(next) {
      areSocketsLost = next;
      if (next) for (const socket of sockets) socket.destroy();
    },
    async close() {
      await wire.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await closeFeatureFlags(auth);
      await pool.end();
      await drop();
    },
  };
}

export async function removeBuild(): Promise<void> {
  if (built !== undefined) await rm(await built, { recursive: true, force: true });
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
