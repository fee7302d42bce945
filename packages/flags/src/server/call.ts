/** One call under way: the service, the request, who makes it, and what its operation requires. */
import type { RequestIdentity } from "@halyard/sessions/plugin";
import type { FlagAction, OperationAction } from "./access/actions.ts";
import type { HeaderReader, HostRequest } from "./http/host-request.ts";
import type { Service } from "./service.ts";

export interface Call<Action extends OperationAction = OperationAction> {
  readonly service: Service;
  readonly request: HostRequest;
  /** The headers of the request; empty when server code passes none. */
  readonly headers: HeaderReader;
  /** Who makes the call, and what was found out about the caller so far. */
  readonly identity: RequestIdentity;
  /** The peer's network address, where the request did not pass through Better Auth and the server provides it. */
  readonly socketAddress?: string | undefined;
  readonly operation: OperationFacts<Action>;
}

/** A call of an operation that needs a permission. */
export type GuardedCall = Call<FlagAction>;

/** What running an operation depends on; the rest of its definition is for routing and documentation. */
export interface OperationFacts<Action extends OperationAction = OperationAction> {
  readonly action: Action;
  /** Largest body in bytes as JSON. Defaults to 64 KiB. */
  readonly maxBodyBytes?: number;
}
