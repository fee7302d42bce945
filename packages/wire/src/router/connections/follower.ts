/** Starts the follower of a server, if its adapter has one. */
import type { Connection, Server } from "../contracts.ts";
import { ConnectionScope, contextOf } from "../inbound-event.ts";
import type { ServerOptions } from "../server/server-options.ts";
import { reauthorize } from "../topics/topics.ts";
import type { ConnectionFollower } from "./following.ts";

export function createFollower(
  server: Server,
  { follow, isolated = false }: ServerOptions,
): ConnectionFollower | undefined {
  return follow?.({
    isIsolated: isolated,
    get pubsub() {
      return server.pubsub;
    },
    recheckTopics: (connection) =>
      reauthorize(connection as Connection, new ConnectionScope(connection as Connection)),
    contextOf: (connection) => contextOf(connection as Connection),
    reportOutside: (thrown, clientId) => server.reportOutside(thrown, clientId),
  });
}
