/** Starts an application with a console, whose files are a small stand-in for the real ones. */
import { fileURLToPath } from "node:url";
import type { Answer, Host, Person } from "../../flags/test/host.ts";
import { answerOf } from "../../flags/test/host.ts";
import { contentOf } from "../app/embed.ts";
import type { Console } from "../src/server/create-console.ts";
import { createConsoleFrom } from "../src/server/create-console.ts";
import type { ConsoleOptions } from "../src/server/options.ts";

export const BASE = "/ops/flags";
const content = contentOf(fileURLToPath(new URL("fixtures/app/", import.meta.url)));
export const loadApp = async () => ({ content });

export interface Ask {
  readonly as?: Person | undefined;
  readonly method?: string;
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ConsoleHost {
  readonly made: Console;
  /** Asks for a path of the origin, without any header of the console. */
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Asks the API as the console's page does. */
  api(path: string, ask?: Ask): Promise<Answer>;
  /** Asks for an operation of the console's own. */
  own(name: string, body: object, as?: Person): Promise<Answer>;
}

export function mountConsole(host: Host, options: Partial<ConsoleOptions> = {}): ConsoleHost {
  return askConsole(host, createConsoleFrom(loadApp, host.auth, { basePath: BASE, ...options }));
}

export function askConsole(host: Host, made: Console): ConsoleHost {
  const get: ConsoleHost["get"] = (path, init) => made.fetch(new Request(host.origin + path, init));
  const api: ConsoleHost["api"] = async (path, { as, method = "GET", body, headers } = {}) => {
    const response = await get(`${BASE}/api/${path}`, {
      method,
      headers: {
        origin: host.origin,
        "sec-fetch-site": "same-origin",
        "x-halyard-console": "1",
        ...as?.headers,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return answerOf(response);
  };
  const own: ConsoleHost["own"] = (name, body, as) =>
    api(`feature-flags/console/${name}`, { as, method: "POST", body });
  return { made, get, api, own };
}
