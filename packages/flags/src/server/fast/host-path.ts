/** The fast path of an auth instance: there once Better Auth has started, and nothing of the host's stands against it. */
import type { Call } from "../call.ts";
import { ROUTES } from "../routes.ts";
import type { Service } from "../service.ts";
import { createFastPath, FAST_OPERATIONS, type FastPath } from "./fast-path.ts";
import { reasonForPath, reasonToStepAside } from "./host-rules.ts";

type Context = Call["context"];

/** Undefined until it is there, and where it is off. */
export interface HostPath {
  current: FastPath | undefined;
}

export function openHostPath(service: Service, context: Context, plugin: object): FastPath | undefined {
  const { fastPath: option } = service.options;
  if (option === false) {
    service.fastPath = { state: "off", reason: "The option fastPath is false." };
    return undefined;
  }
  const paths = FAST_OPERATIONS.map((name) => ROUTES[name].path);
  const reason = option === "force" ? undefined : reasonToStepAside(context, plugin, paths);
  if (reason !== undefined) {
    service.fastPath = { state: "off", reason };
    service.warnOnce(
      `withFeatureFlags steps aside: ${reason} All requests go through Better Auth. Should that not matter for flags, set fastPath: "force".`,
    );
    return undefined;
  }
  const operations = FAST_OPERATIONS.filter((name) => {
    const { path } = ROUTES[name];
    const against = option === "force" ? undefined : reasonForPath(context, path);
    if (against !== undefined)
      service.warnOnce(`withFeatureFlags leaves ${path} to Better Auth: ${against}.`);
    return against === undefined;
  });
  service.fastPath = { state: "on" };
  return createFastPath(service, context, operations);
}
