/** The fast path of an auth instance: open once Better Auth has started, unless the host's settings forbid it. */

import { reasonForPath, reasonToStepAside } from "../http/host-facts.ts";
import type { HostContext } from "../http/host-request.ts";
import type { Service } from "../service.ts";
import { createFastPath, FAST_OPERATIONS, type FastOperation, type FastPath } from "./fast-path.ts";

export type { FastPath } from "./fast-path.ts";

/** `current` is undefined until the fast path is open, and while it is off. */
export interface HostPath {
  current: FastPath | undefined;
}

/** An auth instance with its fast path. */
export interface Wrapped {
  readonly host: HostPath;
  /** The auth instance's own handler. */
  readonly ordinary: (request: Request) => Promise<Response>;
  /** Logs an error that no operation and no endpoint has answered. */
  readonly report: (error: unknown) => void;
}

export function openHostPath(service: Service, context: HostContext, plugin: object): FastPath | undefined {
  const { fastPath: option } = service.options;
  if (option === false) {
    service.fastPath = { state: "off", reason: "The option fastPath is false." };
    return undefined;
  }
  const paths = Object.values(FAST_OPERATIONS).map(({ path }) => path);
  const reason = option === "force" ? undefined : reasonToStepAside(context, plugin, paths);
  if (reason !== undefined) {
    service.fastPath = { state: "off", reason };
    service.warnOnce(
      `The fast path of withFeatureFlags is off: ${reason} All requests go through Better Auth. If that does not matter for flags, set fastPath: "force".`,
    );
    return undefined;
  }
  const operations = (Object.keys(FAST_OPERATIONS) as FastOperation[]).filter((name) => {
    const { path } = FAST_OPERATIONS[name];
    const against = option === "force" ? undefined : reasonForPath(context, path);
    if (against !== undefined)
      service.warnOnce(`withFeatureFlags leaves ${path} to Better Auth: ${against}.`);
    return against === undefined;
  });
  service.fastPath = { state: "on" };
  return createFastPath(service, context, operations);
}
