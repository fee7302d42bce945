/** Unleash's server with the flags of the benches, on the same PostgreSQL. */
import { once } from "node:events";
import type { Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openPool } from "@halyard/services/postgres-pool";
import { ADMIN_TOKEN, FRONTEND_TOKEN, setUpUnleash } from "./flags/unleash-setup.ts";

type Unleash = { start(options: object): Promise<{ readonly server: Server }> };

const SCHEMA = "unleash";
/** Its limits, which would refuse the requests of the benches. */
const UNLIMITED = { sdkApiMaxPerMinute: 1e9, tokenAuthenticationMaxPerMinute: 1e9 };

const [folder = "", databaseUrl = ""] = process.argv.slice(2);
const entry = createRequire(join(folder, "package.json")).resolve("unleash-server");
const { start }: Unleash = await import(pathToFileURL(entry).href);

const pool = openPool({ connectionString: databaseUrl, max: 1 });
const { rows } = await pool.query("select 1 from pg_namespace where nspname = $1", [SCHEMA]);
const isNew = rows.length === 0;
if (isNew) await pool.query(`create schema ${SCHEMA}`);
await pool.end();

const { hostname, port, username, password, pathname } = new URL(databaseUrl);
const token = (type: string, secret: string, environment: string): object => ({
  type,
  secret,
  environment,
  projects: ["*"],
  tokenName: type,
});
const { server } = await start({
  db: {
    host: hostname,
    port: Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    schema: SCHEMA,
    ssl: false,
  },
  server: { port: 0, host: "127.0.0.1" },
  authentication: {
    type: "none",
    initApiTokens: [token("admin", ADMIN_TOKEN, "*"), token("frontend", FRONTEND_TOKEN, "development")],
  },
  rateLimiting: UNLIMITED,
  versionCheck: { enable: false },
  telemetry: false,
  logLevel: "error",
});
if (!server.listening) await once(server, "listening");
const listening = (server.address() as AddressInfo).port;
if (isNew) await setUpUnleash(`http://127.0.0.1:${listening}`);
console.log(JSON.stringify({ port: listening }));
