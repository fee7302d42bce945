/** One `http.Server` with several `upgrade` listeners: whose upgrade is it? Node calls every listener for every upgrade. */
import type { IncomingMessage } from "node:http";

type Listener = (...args: never[]) => unknown;

/** `others`: another listener may handle it, so nothing may be written to its socket. `unclear`: there is no `path` to tell. */
export type Claim = "ours" | "others" | "unclear";

/** The paths of the upgrade listeners of this package. Undefined: every path. */
const paths = new WeakMap<Listener, string | undefined>();

/** Registers an upgrade listener of this package with its option `path`. */
export function registerListener(listener: Listener, path: string | undefined): void {
  paths.set(listener, path);
}

/** The pathname of the request's target; undefined when it is not a path, such as `*`. */
export function pathnameOf(target: string | undefined): string | undefined {
  if (!target?.startsWith("/")) return undefined;
  const address = `http://localhost${target}`;
  return URL.canParse(address) ? new URL(address).pathname : undefined;
}

/** Whether an upgrade of `pathname` is for `listener`, given the other listeners of its server. */
export function claimOf(
  pathname: string | undefined,
  path: string | undefined,
  listener: Listener,
  listeners: readonly Listener[],
): Claim {
  const isShared = listeners.length > 1;
  if (path === undefined) {
    if (!isShared) return "ours";
    return isTakenBy(listeners, listener, pathname) ? "others" : "unclear";
  }
  if (pathname === path || !isShared) return "ours";
  // Only listeners of this package: their paths are known, so the first one may answer for all of them.
  const isAnswerable = listeners[0] === listener && listeners.every((each) => paths.has(each));
  return isAnswerable && !isTakenBy(listeners, listener, pathname) ? "ours" : "others";
}

/** Whether another listener of this package handles the path. */
function isTakenBy(listeners: readonly Listener[], own: Listener, pathname: string | undefined): boolean {
  return listeners.some((each) => {
    if (each === own || !paths.has(each)) return false;
    const path = paths.get(each);
    return path !== undefined && path === pathname;
  });
}

/** The upgrade listeners of the request's server; empty when the request did not come from a server. */
export function upgradeListeners(request: IncomingMessage): Listener[] {
  // Node sets `server` on the sockets of `net.Server` and `tls.Server`.
  const { server } = request.socket as { server?: { listeners?(event: string): unknown[] } };
  return (server?.listeners?.("upgrade") ?? []) as Listener[];
}
