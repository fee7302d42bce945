/** The options of `createConsole`. */

/** The options of `createConsole`. */
export type ConsoleOptions = {
  /** Where the console is mounted, such as `/admin/flags`. Every path below it belongs to the console. */
  basePath: string;
  /**
   * The application's own page for signing in. The console links to it. Default: none; with Better Auth's
   * `emailAndPassword`, the console has a form of its own.
   */
  signInUrl?: string | undefined;
  /** The path of the WebSocket with live flags, at the same origin. Default: none; the console polls. */
  live?: string | undefined;
};

const NAMES: ReadonlySet<string> = new Set(["basePath", "signInUrl", "live"]);
/** Characters that mean the same in a path and in HTML. */
const PATH = /^(?:\/[A-Za-z0-9._~-]+)+$/;

/** Throws a `TypeError` that names the option. */
export function checkOptions(options: ConsoleOptions): void {
  for (const name of Object.keys(options)) {
    if (NAMES.has(name)) continue;
    throw new TypeError(`createConsole: there is no option "${name}". Use one of ${[...NAMES].join(", ")}.`);
  }
  const { basePath, signInUrl, live } = options;
  if (typeof basePath !== "string" || !PATH.test(basePath) || /\/\.{1,2}(?:\/|$)/.test(basePath)) {
    throw new TypeError(
      `createConsole: basePath is ${JSON.stringify(basePath)}. Set it to a path such as "/admin/flags", without a slash at its end.`,
    );
  }
  if (signInUrl !== undefined && !isPageUrl(signInUrl)) {
    throw new TypeError(
      `createConsole: signInUrl is ${JSON.stringify(signInUrl)}. Set it to a path such as "/sign-in", or to an http or https URL.`,
    );
  }
  if (live !== undefined && !(typeof live === "string" && /^\/(?!\/)/.test(live))) {
    throw new TypeError(`createConsole: live is ${JSON.stringify(live)}. Set it to a path such as "/live".`);
  }
}

/** A link with another scheme, such as `javascript:`, could run code. */
function isPageUrl(url: unknown): boolean {
  return typeof url === "string" && (/^\/(?!\/)/.test(url) || /^https?:\/\//.test(url));
}
