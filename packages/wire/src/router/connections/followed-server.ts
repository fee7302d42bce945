/** A running server as the code that follows its connections sees it. Starts that code, if the adapter has any. */
import type { Connection, Server } from "../contracts.ts";
import { ConnectionScope, contextOf } from "../inbound-event.ts";
import type { ServerOptions } from "../server/server-options.ts";
import { reauthorize } from "../topics/topics.ts";
import type { ConnectionFollower } from "./connection-follower.ts";

export function startFollower(
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
