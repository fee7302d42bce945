/** Unleash's server. It has hundreds of dependencies, so it is installed in its own folder when it is measured. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cache } from "../build.ts";
import { isSmoke } from "../measurement.ts";
import { nodeServer } from "../server.ts";
import { FRONTEND_TOKEN } from "../servers/flags/unleash-setup.ts";
import type { HttpContestant } from "./comparison.ts";

const VERSION = "8.2.0";
const FOLDER = join(cache, `unleash-server-${VERSION}`);
const PROGRAM = import.meta.resolve("../servers/node-unleash.ts");

export const UNLEASH = `Unleash ${VERSION}, /api/frontend`;

/** It has no sessions: the user is in the query, and the token is the application's. */
export const unleashServer: HttpContestant = {
  name: UNLEASH,
  role: "peer",
  isExtra: true,
  isLeftOut: isSmoke,
  async start({ databaseUrl }) {
    if (!isInstalled()) await install();
    return nodeServer(UNLEASH, PROGRAM, FOLDER, databaseUrl);
  },
  exchanges: ({ people }) =>
    people.map(({ id, attributes: { plan, country, loginCount } }) => {
      const properties = { plan, country, loginCount: String(loginCount) };
      const query = Object.entries(properties).map(([name, value]) => `properties%5B${name}%5D=${value}`);
      return {
        method: "GET",
        path: `/api/frontend?userId=${id}&${query.join("&")}`,
        headers: { authorization: FRONTEND_TOKEN },
        expected: '{"toggles":[',
      };
    }),
};

function isInstalled(): boolean {
  return existsSync(join(FOLDER, "node_modules", "unleash-server", "package.json"));
}

async function install(): Promise<void> {
  console.error(`Installing unleash-server ${VERSION}. This takes some minutes, once.`);
  // Installed under another name first, so that another run never finds an incomplete installation.
  const draft = `${FOLDER}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  const args = ["install", "--prefix", draft, "--ignore-scripts", "--no-audit", "--no-fund"];
  await promisify(execFile)("npm", [...args, `unleash-server@${VERSION}`], { cwd: draft });
  renameSync(draft, FOLDER);
}
