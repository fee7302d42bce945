/** The environment an evaluation runs in: the header's, the body's, or the host's default. */
import { MAX_LINE, overLimit } from "../model/inputs.ts";
import { type Call, headerReaderOf } from "./call.ts";
import type { Caller } from "./caller.ts";
import type { FeatureFlagsOptions } from "./options.ts";

export interface Environment {
  readonly name?: string;
  /** The caller asked for one it may not claim. */
  readonly ignored: boolean;
}

const RING_HEADER = "x-deployment-ring";

export function resolveEnvironment(
  call: Call,
  caller: Caller,
  options: FeatureFlagsOptions,
  fromBody: string | undefined,
): Environment {
  return environmentFor(headerReaderOf(call), caller, options, fromBody);
}

export function environmentFor(
  headers: Pick<Headers, "get">,
  caller: Caller,
  { environments: { default: fallback, claimable } = {} }: FeatureFlagsOptions,
  fromBody: string | undefined,
): Environment {
  const asked = (headers.get(RING_HEADER) || fromBody) ?? "";
  if (asked.length > MAX_LINE) {
    throw overLimit(
      "The name of the environment is too long, in characters.",
      MAX_LINE,
      "Use a shorter one.",
    );
  }
  const trusted = caller.kind === "server" || caller.kind === "key";
  const ignored = asked !== "" && !trusted && claimable !== undefined && !claimable.includes(asked);
  const name = asked === "" || ignored ? fallback : asked;
  return { ...(name !== undefined && { name }), ignored };
}
