/** What tools see of a router: the messages and channels it has, and the servers it creates. */
import type { AnyChannel } from "../schema/channel.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import type { Server } from "./contracts.ts";
import type { ServerOptions } from "./server/server-options.ts";

/** The messages and channels of a router, in the order of their registration. */
export interface Declarations {
  /** The messages with a handler; those with a response are requests. */
  readonly messages: readonly AnyMessageSchema[];
  /** The channels that clients can join. */
  readonly channels: readonly AnyChannel[];
}

/** Sees the servers of a router. Nothing on the path of a frame checks whether there is one. */
export interface ServerObserver {
  /** A server is being created. Returns the options it gets in place of the adapter's. */
  attaching(options: ServerOptions): ServerOptions;
  /** The server has no connections yet. Returns a function to call when the server stops. */
  attached(server: Server): () => void;
}

/** Throws when an observer would miss a server. */
export function checkObservable(tool: ServerObserver | undefined, servers: ReadonlySet<Server>): void {
  if (tool === undefined && servers.size === 0) return;
  throw new TypeError(
    "The router cannot be observed: a server of it runs, or another tool observes it. Create one tool per router, before serve().",
  );
}
