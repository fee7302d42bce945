// What the four servers have in common: the description of a kind of server, and how a shared one is found.
import type { Launch } from "./child.ts";
import { type Environment, localPort, setting } from "./settings.ts";
import { startedServer } from "./state.ts";

export interface ServerKind {
  readonly name: "postgres" | "mariadb" | "redis" | "nats";
  readonly title: string;
  /** The variable with the URL of a server to use, such as `DATABASE_URL`. */
  readonly urlVariable: string;
  readonly protocols: readonly string[];
  /** The variable that sets the local port, such as `HALYARD_POSTGRES_PORT`. */
  readonly portVariable: string;
  readonly usualPort: number;
  readonly packages: readonly string[];
  readonly stopSignal: NodeJS.Signals;
  /** The possible URLs of a local server, the most likely first. */
  localUrls(port: number, env: Environment): readonly string[];
  /** Resolves to the server's version when it responds at `url`. Rejects with the reason otherwise. */
  check(url: string): Promise<string>;
  /** Its programs that are missing on this machine. Empty when it is installed. */
  missingPrograms(): readonly string[];
  /** Prepares an empty directory for a server's first start. */
  prepare(directory: string): Promise<void>;
  /** The command that runs a server in the foreground on `127.0.0.1:port`. */
  launch(directory: string, port: number): Launch;
}

export interface Provision {
  readonly url: string;
  readonly version: string;
  /** Where it comes from, for display. */
  readonly provider: string;
}

/** A service is unavailable. The message says what was tried and what to do. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
}

/** The URL of a server that this package runs on `port`. */
export function ownUrl(kind: ServerKind, port: number): string {
  const [url] = kind.localUrls(port, {});
  if (url === undefined) throw new Error(`${kind.title} has no local URL.`);
  return url;
}

/** The URL without its password, for messages. */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^:@/]*):[^@/]*@/, "$1:***@");
}

export function reasonOf(error: unknown): string {
  // The error of a refused connection to a name with several addresses contains one error per address.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(reasonOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}

/** Lists what was tried and what else could help. `suggestUp` is false when `up` itself failed. */
export function unavailable(
  kind: ServerKind,
  tried: readonly string[],
  { suggestUp }: { readonly suggestUp: boolean },
): ServiceError {
  const { title, name, urlVariable } = kind;
  return new ServiceError(
    `${title} is not available. Tried: ${tried.join("; ")}.\n` +
      `Remedy: ${suggestUp ? `"npm run services -- up ${name}", or ` : ""}"docker compose up -d ${name}" with the ` +
      `repository's compose.yaml, or set ${urlVariable} to the URL of a running server.`,
  );
}

async function checkGivenUrl(kind: ServerKind, url: string): Promise<Provision> {
  const { urlVariable, protocols, title } = kind;
  if (!protocols.some((protocol) => url.startsWith(`${protocol}//`))) {
    throw new ServiceError(`${urlVariable} must begin with ${protocols[0]}// to name a ${title} server.`);
  }
  try {
    return { url, version: await kind.check(url), provider: `given by ${urlVariable}` };
  } catch (cause) {
    throw new ServiceError(
      `${title} does not answer at ${shownUrl(url)}, which ${urlVariable} names: ${reasonOf(cause)}.\n` +
        `Remedy: start that server, for instance with "docker compose up -d ${kind.name}" and the repository's ` +
        `compose.yaml, or correct ${urlVariable}, or unset it to use a local server.`,
      { cause },
    );
  }
}

/**
 * The shared server, if it runs: only the one in the URL variable if it is set, otherwise the one that `up` started,
 * otherwise the one at the local port. Adds to `tried` why others were not used.
 */
export async function findServer(
  kind: ServerKind,
  env: Environment,
  tried: string[] = [],
): Promise<Provision | undefined> {
  const given = setting(env, kind.urlVariable);
  if (given !== undefined) return checkGivenUrl(kind, given);

  const started = startedServer(kind.name, env);
  if (started !== undefined) {
    try {
      const version = await kind.check(started.url);
      return { url: started.url, version, provider: `started by "services up" as process ${started.pid}` };
    } catch (error) {
      tried.push(`${shownUrl(started.url)}, started by "services up" (${reasonOf(error)})`);
    }
  }
  for (const url of kind.localUrls(localPort(env, kind.portVariable, kind.usualPort), env)) {
    try {
      return { url, version: await kind.check(url), provider: "was running" };
    } catch (error) {
      tried.push(`${shownUrl(url)} (${reasonOf(error)})`);
    }
  }
  return undefined;
}

/** The URL of the shared server. Rejects with the remedy when it does not run. */
export async function runningUrl(kind: ServerKind, env: Environment = process.env): Promise<string> {
  const tried: string[] = [];
  const found = await findServer(kind, env, tried);
  if (found === undefined) throw unavailable(kind, tried, { suggestUp: true });
  return found.url;
}
