/** Whether Better Auth would accept the origin of a request with cookies. Where that is not sure, it is asked. */
import type { Call } from "../call.ts";
import type { ReadHeader } from "./credentials.ts";

/** Origins remembered as trusted. */
const MAX_ORIGINS = 1000;

/** A function that says yes only when Better Auth would, for requests to this path of ours. */
export function createOriginCheck(context: Call["context"], path: string): (header: ReadHeader) => boolean {
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

function isUnchecked({ skipCSRFCheck, skipOriginCheck }: Call["context"], path: string): boolean {
  if (skipCSRFCheck || skipOriginCheck === true) return true;
  if (!Array.isArray(skipOriginCheck)) return false;
  return skipOriginCheck.some((skipped) => {
    const bare = skipped.replace(/\/+$/, "");
    return path === bare || path.startsWith(`${bare}/`);
  });
}

/** What Better Auth trusts for every request; a function of the host's may trust more, and is asked by Better Auth. */
function trustOf(context: Call["context"]): (origin: string) => boolean {
  if (typeof context.options.trustedOrigins !== "function") {
    return (origin) => context.isTrustedOrigin(origin, { allowRelativePaths: false });
  }
  const own = context.baseURL === "" ? undefined : new URL(context.baseURL).origin;
  return (origin) => origin === own;
}
