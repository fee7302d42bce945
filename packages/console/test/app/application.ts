/** An application with the console built from its sources, on a real database, and a browser that opens it. */
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiKey } from "@better-auth/api-key";
import {
  closeFeatureFlags,
  type FeatureFlagsOptions,
  featureFlagStatements,
  featureFlags,
  makeFeatureFlagAdmin,
} from "@halyard/flags";
import { createPostgresDatabase } from "@halyard/services";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { admin, organization } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { adminAc, defaultStatements, userAc } from "better-auth/plugins/admin/access";
import { Pool } from "pg";
import { build } from "vite";
import { createConsoleFrom } from "../../src/server/create-console.ts";

const BASE = "/ops/flags";
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
  readonly url: string;
  /** Signs a user up. */
  account(name: string, options?: { role?: string; plan?: string }): Promise<Account>;
  /** While true, the server closes every connection without a response. */
  setLost(isLost: boolean): void;
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

export async function startApplication(flags: FeatureFlagsOptions = {}): Promise<Application> {
  const folder = await buildApp();
  const { url: databaseUrl, drop } = await createPostgresDatabase();
  const pool = new Pool({ connectionString: databaseUrl, max: 5 });
  // Sockets may close after the database is dropped.
  pool.on("error", () => {});
  let isLost = false;
  let handle: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  const server = createServer((request, response) => {
    if (isLost) request.socket.destroy();
    else void handle?.(request, response);
  });
  const origin = await listen(server);
  const auth = createAuth(origin, pool, flags);
  await (await getMigrations(auth.options)).runMigrations();
  const flagsConsole = createConsoleFrom(folder, auth, { basePath: BASE });
  const answer = toNodeHandler(auth);
  handle = (request, response) =>
    request.url?.startsWith(BASE) === true ? flagsConsole.node(request, response) : answer(request, response);

  return {
    auth,
    url: origin + BASE,
    async account(name, { role, plan } = {}) {
      const email = `${name.toLowerCase().replaceAll(" ", ".")}@example.com`;
      const { user } = await auth.api.signUpEmail({ body: { name, email, password: PASSWORD } });
      const { internalAdapter } = await auth.$context;
      if (plan !== undefined) await internalAdapter.updateUser(user.id, { plan });
      if (role === "admin") await makeFeatureFlagAdmin(auth, email);
      else if (role !== undefined) await internalAdapter.updateUser(user.id, { role });
      return { id: user.id, name, email };
    },
    setLost(next) {
      isLost = next;
    },
    async close() {
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
