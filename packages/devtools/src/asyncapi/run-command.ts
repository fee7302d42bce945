/** What the command `halyard-asyncapi` does: writes the AsyncAPI document of a router that a module exports. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { type AsyncApiOptions, asyncApi } from "./async-api.ts";

const USAGE = `Usage: halyard-asyncapi <module> --title <title> --version <version> [options]

  <module>              the file that exports the router
  --title <title>       the name of the application
  --version <version>   the version of the application
  --router <name>       the name of the export with the router; default: router
  --options <name>      the name of an export with more options of asyncApi(): servers, topics, sends
  --url <url>           where the server listens, such as wss://example.com/ws
  --out <file>          where to write the document; default: standard output
  --help                prints this text`;

const ARGUMENTS = {
  title: { type: "string" },
  version: { type: "string" },
  router: { type: "string", default: "router" },
  options: { type: "string" },
  url: { type: "string" },
  out: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** A mistake on the command line, printed without a stack. */
class UsageError extends Error {}

type Routed = Parameters<typeof asyncApi>[0];

/** Runs the command with these arguments; returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<0 | 1> {
  try {
    await run(args);
    return 0;
  } catch (error) {
    console.error(error instanceof UsageError || error instanceof TypeError ? error.message : error);
    return 1;
  }
}

async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(args);
  if (values.help) return console.log(USAGE);
  const [file] = positionals;
  if (file === undefined) throw new UsageError(`The module with the router is missing.\n\n${USAGE}`);
  const module: Record<string, unknown> = await import(pathToFileURL(resolve(file)).href);
  const router = exportOf<Routed>(module, file, values.router);
  if (typeof router?.declarations !== "function")
    throw new UsageError(
      `The export "${values.router}" of ${file} is not a router. Export what createRouter() returned, or name another export with --router.`,
    );
  const more =
    values.options === undefined ? {} : exportOf<Partial<AsyncApiOptions>>(module, file, values.options);
  const { title = more.title ?? "", version = more.version ?? "" } = values;
  const servers = values.url === undefined ? {} : { servers: { default: serverOf(values.url) } };
  const document = await asyncApi(router, { ...more, ...servers, title, version });
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (values.out !== undefined) return writeFile(values.out, text);
  await new Promise<unknown>((written) => process.stdout.write(text, written));
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: ARGUMENTS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function exportOf<T>(module: Record<string, unknown>, file: string, name: string): T {
  if (module[name] !== undefined) return module[name] as T;
  throw new UsageError(
    `${file} has no export "${name}". Its exports are: ${Object.keys(module).join(", ") || "none"}.`,
  );
}

function serverOf(text: string): { host: string; protocol: "ws" | "wss"; pathname: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "ws:" && url?.protocol !== "wss:")
    throw new UsageError(`The url "${text}" does not begin with ws:// or wss://.`);
  return { host: url.host, protocol: url.protocol === "ws:" ? "ws" : "wss", pathname: url.pathname };
}
