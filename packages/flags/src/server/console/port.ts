/** The console's way to the operations: through the auth instance's own handler, with the caller's request. */
import { basePathOf } from "../http/base-path.ts";
import type { HostContext } from "../http/host-request.ts";
import { portOf } from "../port.ts";
import { CONSOLE_MARK } from "./mark.ts";

/** The members of an auth instance that the console needs. */
export type ConsoleAuth = {
  /** Answers a request. */
  handler: (request: Request) => Promise<Response>;
  /** The options of the instance, with its plugins. */
  readonly options: { readonly plugins?: readonly object[] | undefined };
  /** The context that Better Auth gives to plugins. */
  readonly $context: Promise<object>;
};

/** Sends requests of the console to the auth instance. */
export type ConsolePort = {
  /**
   * Sends the request to a path of the auth instance, such as `/feature-flags/admin/flags`. It is counted by the rate
   * limit `console`, and only its cookies identify the caller.
   */
  forward(request: Request, path: string, body: BodyInit | undefined): Promise<Response>;
  /** The origin of `baseURL`; undefined if Better Auth takes it from each request. */
  origin(): Promise<string | undefined>;
};

/** Credentials that a browser does not send by itself. The console is for signed-in users only. */
const OTHER_CREDENTIALS = ["authorization", "x-api-key"];
/** Of the connection and of the old body. */
const NOT_FORWARDED = ["connection", "content-length", "host", "transfer-encoding", "upgrade", CONSOLE_MARK];

/** Throws a `TypeError` if the auth instance has no feature flags. */
export function openConsolePort(auth: ConsoleAuth): ConsolePort {
  const { consoleMark } = portOf(auth, "createConsole");
  // The type of an auth instance does not declare its context as plugins see it.
  const hostOf = async () => (await auth.$context) as HostContext;

  return {
    async forward(request, path, body) {
      const context = await hostOf();
      const url = new URL(request.url);
      const target = new URL(`${basePathOf(context)}${path}${url.search}`, url.origin);
      const headers = new Headers(request.headers);
      for (const name of [...OTHER_CREDENTIALS, ...NOT_FORWARDED]) headers.delete(name);
      headers.set(CONSOLE_MARK, consoleMark(context));
      const { method, signal } = request;
      return auth.handler(
        new Request(target, { method, headers, signal, ...(body !== undefined && { body }) }),
      );
    },
    async origin() {
      const { baseURL } = await hostOf();
      return baseURL === "" ? undefined : new URL(baseURL).origin;
    },
  };
}
