/** `createConsole`: one handler for the console's page, its files and its API. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ConsoleAuth, openConsolePort } from "@halyard/flags/console";
import { answerApi } from "./api.ts";
import { type AppContent, AppFiles, isFileName } from "./app-files.ts";
import { refuse } from "./errors.ts";
import { pageOf, secured } from "./headers.ts";
import { createNodeListener } from "./node-listener.ts";
import { type ConsoleOptions, checkOptions } from "./options.ts";

/** The handlers of a console. */
export type Console = {
  /** Answers requests to `basePath` and below. Other paths are 404. */
  fetch: (request: Request) => Promise<Response>;
  /** The same for `node:http` and frameworks based on it. Never rejects. */
  node: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
};

/**
 * A console for the feature flags of an auth instance. Users of the application use it with the permissions
 * that Better Auth grants.
 *
 * ```ts
 * import { createServer } from "node:http";
 * import { createConsole } from "@halyard/console";
 * import { featureFlags } from "@halyard/flags";
 * import { betterAuth } from "better-auth";
 * import { admin } from "better-auth/plugins";
 *
 * const auth = betterAuth({ emailAndPassword: { enabled: true }, plugins: [admin(), featureFlags()] });
 * const flagsConsole = createConsole(auth, { basePath: "/admin/flags" });
 * createServer(flagsConsole.node).listen(3000);
 * ```
 */
export function createConsole(auth: ConsoleAuth, options: ConsoleOptions): Console {
  return createConsoleFrom(() => import("#app"), auth, options);
}

/** The same with another application. `load` is called for the first page. */
export function createConsoleFrom(
  load: () => Promise<{ readonly content: AppContent }>,
  auth: ConsoleAuth,
  options: ConsoleOptions,
): Console {
  checkOptions(options);
  const { basePath, signInUrl, live } = options;
  const api = {
    port: openConsolePort(auth),
    added: { ...(signInUrl !== undefined && { signInUrl }), ...(live !== undefined && { live }) },
  };
  let reading: Promise<AppFiles> | undefined;

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname !== basePath && !pathname.startsWith(`${basePath}/`)) return refuse("NOT_FOUND");
    const path = pathname.slice(basePath.length);
    if (path.startsWith("/api/")) return answerApi(request, path.slice("/api".length), api);
    if (request.method !== "GET" && request.method !== "HEAD") return refuse("METHOD_NOT_ALLOWED");
    reading ??= load().then(({ content }) => new AppFiles(content));
    let files: AppFiles;
    try {
      files = await reading;
    } catch (error) {
      // The application may be built while the server runs.
      reading = undefined;
      if (isMissing(error)) return refuse("APP_NOT_BUILT");
      console.error("[halyard-console] The files of the application could not be loaded.", error);
      return refuse("APP_NOT_LOADED");
    }
    const name = path.slice(1);
    const file = files.respond(name, request);
    if (file !== undefined) return file;
    if (isFileName(name)) return refuse("NOT_FOUND");
    const fill = (nonce: string) =>
      files.page.replaceAll("__CSP_NONCE__", nonce).replaceAll("__BASE_PATH__", `${basePath}/`);
    return pageOf(fill, request.method === "HEAD");
  }

  const fetch = async (request: Request) => secured(await answer(request));
  return { fetch, node: createNodeListener(fetch) };
}

/** The codes of Node.js and of bundlers. */
const MISSING: ReadonlySet<unknown> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && MISSING.has(error.code);
}
