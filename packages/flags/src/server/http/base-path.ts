/** Where Better Auth is mounted. */
import type { HostContext } from "./host-request.ts";

/** The part of the path before that of an endpoint. */
export function basePathOf({ baseURL, options }: HostContext): string {
  const path = baseURL === "" ? (options.basePath ?? "/api/auth") : new URL(baseURL).pathname;
  return path.replace(/\/+$/, "");
}
