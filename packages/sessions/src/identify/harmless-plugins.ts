/** Plugins of Better Auth whose hooks leave it to Better Auth itself who the caller of a request is. */
import type { HostContext } from "./request.ts";

type Plugin = NonNullable<HostContext["options"]["plugins"]>[number];

/**
 * Their hooks are for other paths, read credentials from the headers that Better Auth reads, or set cookies and headers
 * of responses. A hook of another plugin may refuse any request. The tests of the flags' fast path run every plugin of this list.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  "admin",
  "anonymous",
  "bearer",
  "custom-session",
  "email-otp",
  "jwt",
  "last-login-method",
  "multi-session",
  "next-cookies",
  "oauth-popup",
  "oauth-proxy",
  "one-time-token",
  "phone-number",
  "sveltekit-cookies",
  "tanstack-start-cookies",
  "tanstack-start-cookies-solid",
  "two-factor",
  "username",
]);

/** Whether a plugin has no hooks, or hooks that neither refuse a request nor change its session. */
export function isHarmlessPlugin({ id, hooks }: Pick<Plugin, "id" | "hooks">): boolean {
  const count = (hooks?.before?.length ?? 0) + (hooks?.after?.length ?? 0);
  return count === 0 || HARMLESS.has(id);
}
