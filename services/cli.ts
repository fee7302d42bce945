// `npm run services -- up | down | status [name...]`: the shared servers and the tools, from the command line.
import { type ServerName, servers, type ToolName, tools } from "./catalogue.ts";
import { findServer, reasonOf, shownUrl } from "./server.ts";
import { ensureServer, stopServer } from "./shared-server.ts";
import { ensureTool } from "./tool.ts";

type Name = ServerName | ToolName;

const NAMES = [...Object.keys(servers), ...Object.keys(tools)];

const USAGE = `Usage: npm run services -- up | down | status [name...]

  up      find each service, or else start it, or else install and start it
  down    stop the servers that "up" started, and remove their data
  status  one line for each service

Names: ${NAMES.join(" ")}. Without names: all of them.

Environment:
  DATABASE_URL  MYSQL_URL  REDIS_URL  NATS_URL
      The server to use. When set, that one must answer: no other is looked for.
  HALYARD_POSTGRES_PORT  HALYARD_MARIADB_PORT  HALYARD_REDIS_PORT  HALYARD_NATS_PORT
      The local port to look at and to start on, instead of 5432, 3306, 6379, 4222.
  HALYARD_SERVICES=external
      Start and install nothing; a server that does not run is an error.
  HALYARD_SERVICES_DIR
      Where started servers keep their data; the system's temporary directory unless set.
  CHROMIUM_PATH
      The browser to use.`;

interface Line {
  readonly name: Name;
  readonly state: "up" | "down" | "stopped" | "left alone" | "failed";
  readonly details: readonly string[];
}

function isServer(name: Name): name is ServerName {
  return name in servers;
}

function print({ name, state, details }: Line): void {
  console.log([name.padEnd(9), state.padEnd(10), ...details].join("  ").trimEnd());
}

async function up(name: Name): Promise<Line> {
  if (isServer(name)) {
    const { url, version, provider } = await ensureServer(servers[name], process.env);
    return { name, state: "up", details: [shownUrl(url), version, provider] };
  }
  const { where, version, provider } = await ensureTool(tools[name], process.env);
  return { name, state: "up", details: [where, version, provider] };
}

async function status(name: Name): Promise<Line> {
  if (!isServer(name)) {
    const { where, version, provider } = await tools[name].find(process.env);
    return { name, state: "up", details: [where, version, provider] };
  }
  const tried: string[] = [];
  const server = await findServer(servers[name], process.env, tried);
  if (server === undefined) return { name, state: "down", details: [`not at ${tried.join("; ")}`] };
  return { name, state: "up", details: [shownUrl(server.url), server.version, server.provider] };
}

async function down(name: Name): Promise<Line> {
  if (!isServer(name)) return { name, state: "left alone", details: ["a tool: nothing runs"] };
  const pid = await stopServer(servers[name], process.env);
  if (pid === undefined) return { name, state: "left alone", details: ['not started by "services up"'] };
  return { name, state: "stopped", details: [`process ${pid}`] };
}

async function main([verb, ...words]: readonly string[]): Promise<number> {
  const work = { up, down, status }[verb ?? ""];
  const unknown = words.filter((word) => !NAMES.includes(word));
  if (work === undefined || unknown.length > 0) {
    console.error(unknown.length > 0 ? `Unknown: ${unknown.join(", ")}.\n\n${USAGE}` : USAGE);
    return 2;
  }
  const everything = work === down ? Object.keys(servers) : NAMES;
  const names = (words.length > 0 ? words : everything).filter((word): word is Name => NAMES.includes(word));
  const results = await Promise.allSettled(names.map(work));
  let failures = 0;
  for (const [index, name] of names.entries()) {
    const result = results[index];
    const line: Line =
      result?.status === "fulfilled"
        ? result.value
        : {
            name,
            state: work === status ? "down" : "failed",
            details: [reasonOf(result?.reason).replaceAll("\n", `\n${" ".repeat(23)}`)],
          };
    print(line);
    if (line.state === "down" || line.state === "failed") failures++;
  }
  return failures > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
