/** Whether Better Auth would accept the origin of a request with cookies. When in doubt, Better Auth decides. */
import type { ReadHeader } from "@halyard/sessions/plugin";
import type { HostContext } from "../http/host-request.ts";

/** Origins remembered as trusted. */
const MAX_ORIGINS = 1000;

/** A function that accepts a request to this path only when Better Auth would. */
export function createOriginCheck(context: HostContext, path: string): (header: ReadHeader) => boolean {
  if (isUnchecked(context, path)) return () => true;
  const isTrusted = trustOf(context);
  const trusted = new Set<string>();
  return (header) => {
    if (!header("cookie")) return true;
    const origin = header("origin");
    if (!origin || origin === "null") return false;
    if (trusted.has(origin)) return true;
    if (!isTrusted(origin)) return false;
    if (trusted.size >= MAX_ORIGINS) trusted.clear();
    trusted.add(origin);
    return true;
  };
}

function isUnchecked({ skipCSRFCheck, skipOriginCheck }: HostContext, path: string): boolean {
  if (skipCSRFCheck || skipOriginCheck === true) return true;
  if (!Array.isArray(skipOriginCheck)) return false;
  return skipOriginCheck.some((skipped) => {
    const bare = skipped.replace(/\/+$/, "");
    return path === bare || path.startsWith(`${bare}/`);
  });
}

/** The origins that Better Auth trusts for every request. A host's function may trust more; only Better Auth calls it. */
function trustOf(context: HostContext): (origin: string) => boolean {
  if (typeof context.options.trustedOrigins !== "function") {
    return (origin) => context.isTrustedOrigin(origin, { allowRelativePaths: false });
  }
  const own = context.baseURL === "" ? undefined : new URL(context.baseURL).origin;
  return (origin) => origin === own;
}
