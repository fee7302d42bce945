/** A package registry on this machine for the length of a rehearsal: Verdaccio, with our packages and no others. */

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { runServer } from "verdaccio";
import { run } from "../process.ts";
import type { Outcome } from "../steps.ts";

export interface Registry {
  /** Ends with a slash. */
  readonly url: string;
  /** Publishes a tarball as a release does. */
  publish(tarball: string): Promise<Outcome>;
  close(): Promise<void>;
}

const SCOPE = "@halyard";
const USER = { name: "rehearsal", password: randomUUID() };

/** `folder` is empty, and removed by the caller. */
export async function startRegistry(folder: string): Promise<Registry> {
  // Package managers cache by address, and another run has other packages of the same version.
  const prefix = `/${randomUUID()}/`;
  const server = createServer();
  const { port } = await listen(server);
  const url = `http://localhost:${port}${prefix}`;
  process.env["VERDACCIO_PUBLIC_URL"] = url;
  const verdaccio = await runServer(configure(folder));
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith(prefix) !== true) {
      response.writeHead(404).end();
      return;
    }
    request.url = request.url.slice(prefix.length - 1);
    verdaccio.emit("request", request, response);
  });
  const token = await addUser(url);
  const settings = join(folder, "publisher.npmrc");
  writeFileSync(settings, `${scopeSetting(url)}\n${url.replace("http:", "")}:_authToken=${token}\n`);
  return {
    url,
    publish: (tarball) =>
      run("npm", ["publish", tarball, "--access=public", "--ignore-scripts", "--loglevel=error"], {
        cwd: dirname(tarball),
        env: { npm_config_userconfig: settings, [`npm_config_${SCOPE}:registry`]: url },
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The line of an `.npmrc` with which npm, pnpm and Bun find our packages. The others come from where they always do. */
export function scopeSetting(url: string): string {
  return `${SCOPE}:registry=${url}`;
}

function configure(folder: string): object {
  return {
    self_path: folder,
    storage: join(folder, "storage"),
    auth: { htpasswd: { file: join(folder, "users"), max_users: 1 } },
    uplinks: {},
    packages: { [`${SCOPE}/*`]: { access: "$all", publish: "$authenticated" } },
    web: { enable: false },
    log: { type: "stdout", format: "pretty", level: "fatal" },
  };
}

/** Registers the only user, and gives a token to publish with. */
async function addUser(url: string): Promise<string> {
  const response = await fetch(`${url}-/user/org.couchdb.user:${USER.name}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(USER),
  });
  const body: unknown = await response.json();
  const token = typeof body === "object" && body !== null && "token" in body ? body.token : undefined;
  if (typeof token === "string") return token;
  throw new Error(`The local registry refused its user with ${response.status}: ${JSON.stringify(body)}`);
}

function listen(server: Server): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "localhost", () => resolve(server.address() as AddressInfo));
  });
}
