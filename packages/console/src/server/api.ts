/** The console's API: checks where a request comes from, and passes it to the auth instance with the caller's cookies. */
import type { ConsolePort, ConsoleState } from "@halyard/flags/console";
import type { ConsoleSession } from "../api.ts";
import { refuse } from "./errors.ts";
import { crossOriginProblem } from "./same-origin.ts";

/** What the application needs of Better Auth itself: to sign in and out, and to choose an organization. */
const AUTH_PATHS: ReadonlySet<string> = new Set(["/sign-in/email", "/sign-out", "/organization/set-active"]);

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PATCH", "DELETE"]);
const MAX_BODY_BYTES = 256 * 1024;
const FLAGS = "/feature-flags/";
const AUTH = "/auth";
const SESSION = "/feature-flags/console/session";

export interface ApiOptions {
  readonly port: ConsolePort;
  /** What only the console knows about the session. */
  readonly added: Pick<ConsoleSession, "signInUrl" | "live">;
}

/** Answers a request to `<basePath>/api<path>`. */
export async function answerApi(
  request: Request,
  path: string,
  { port, added }: ApiOptions,
): Promise<Response> {
  const problem = crossOriginProblem(request, await port.origin());
  if (problem !== undefined) return refuse(problem);
  const target = targetOf(request.method, path);
  if (target === undefined) return refuse("NOT_FOUND");
  const body = await readBody(request);
  if (body === "too large") return refuse("BODY_TOO_LARGE");
  const response = await port.forward(request, target, body);
  return path === SESSION ? withAdded(response, added) : response;
}

/** The path of the auth instance; undefined for what the console does not pass on. */
function targetOf(method: string, path: string): string | undefined {
  if (path.startsWith(FLAGS)) return METHODS.has(method) ? path : undefined;
  if (!path.startsWith(`${AUTH}/`) || method !== "POST") return undefined;
  const target = path.slice(AUTH.length);
  return AUTH_PATHS.has(target) ? target : undefined;
}

async function readBody({
  body,
  method,
}: Request): Promise<Uint8Array<ArrayBuffer> | "too large" | undefined> {
  if (body === null || method === "GET") return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return "too large";
    chunks.push(chunk);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

async function withAdded(response: Response, added: ApiOptions["added"]): Promise<Response> {
  if (!response.ok) return response;
  const state: ConsoleState = await response.json();
  const session: ConsoleSession = { ...state, ...added };
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(JSON.stringify(session), { status: response.status, headers });
}
