/** The connections of one server whose sessions are followed. */
import { ignore, pubSubBus } from "@halyard/base";
import {
  type AuthInstance,
  connectSessions,
  type EndReason,
  followCaller,
  type SessionBus,
  type SessionCaller,
  type SessionChange,
} from "@halyard/sessions";
import { CLOSE } from "../protocol/control.ts";
import type {
  ConnectionFollower,
  FollowedConnection,
  FollowedServer,
} from "../router/connections/connection-follower.ts";
import type { AnyData } from "../router/connections/peer.ts";
import type { OpenContext } from "../router/context.ts";

const TOPIC = "$halyard:sessions";

export interface SessionConnectionsOptions {
  readonly auth: AuthInstance;
  /** The callers from whom the data of new connections was computed, by session. */
  readonly admitted: Map<string, SessionCaller>;
  readonly bus: SessionBus | false | undefined;
  readonly lookupsPerSecond: number | undefined;
  readonly extraOf: ((caller: SessionCaller) => object | Promise<object>) | undefined;
  readonly onSessionChange: ((ctx: OpenContext<AnyData>, change: SessionChange) => unknown) | undefined;
}

export class SessionConnections implements ConnectionFollower {
  readonly #server: FollowedServer;
  readonly #options: SessionConnectionsOptions;
  /** Functions that stop following the session of a connection. */
  readonly #followed = new Map<FollowedConnection, Promise<() => void>>();
  readonly #bus: Promise<() => void> | undefined;
  /** The latest change of each connection whose data is being computed. */
  readonly #latest = new WeakMap<FollowedConnection, SessionChange>();

  constructor(server: FollowedServer, options: SessionConnectionsOptions) {
    this.#server = server;
    this.#options = options;
    const bus = busOf(server, options.bus);
    const { auth, lookupsPerSecond } = options;
    this.#bus = bus && connectSessions(auth, bus, { lookupsPerSecond });
    this.#bus?.catch((error: unknown) => server.reportOutside(error));
  }

  opened(connection: FollowedConnection): void {
    const { sessionId } = connection.data;
    // An anonymous visitor has no session.
    if (typeof sessionId !== "string") return;
    const following = followCaller(
      this.#options.auth,
      { sessionId },
      {
        current: (caller) => this.#confirm(connection, caller),
        changed: (change) => this.#change(connection, change),
        renewed: (expiresAt) => connection.expireAt(expiresAt),
        ended: (reason) => close(connection, reason),
      },
    );
    this.#followed.set(connection, following);
    following.catch((error: unknown) => {
      this.#server.reportOutside(error, connection.clientId);
      close(connection, "unavailable");
    });
  }

  closed(connection: FollowedConnection): void {
    void this.#followed.get(connection)?.then((stop) => stop(), ignore);
    this.#followed.delete(connection);
  }

  stopped(): void {
    void this.#bus?.then((disconnect) => disconnect()).catch(ignore);
  }

  /** The session may have changed between `authenticate` and the connection. */
  #confirm(connection: FollowedConnection, caller: SessionCaller): void {
    connection.expireAt(caller.expiresAt);
    if (this.#options.admitted.get(caller.sessionId) === caller) return;
    this.#change(connection, { changed: [], previous: caller, current: caller });
  }

  #change(connection: FollowedConnection, change: SessionChange): void {
    if (!connection.isOpen) return;
    connection.expireAt(change.current.expiresAt);
    connection.assignData(sessionFields(change.current));
    this.#latest.set(connection, change);
    try {
      const extra = this.#options.extraOf?.(change.current);
      if (extra instanceof Promise)
        extra.then(
          (fields) => this.#replace(connection, change, fields),
          (error: unknown) => this.#fail(connection, error),
        );
      else this.#replace(connection, change, extra);
    } catch (error) {
      this.#fail(connection, error);
    }
    // With data that is still being computed, subscriptions are checked by what is known, and again afterwards.
    this.#server.recheckTopics(connection);
  }

  #replace(connection: FollowedConnection, change: SessionChange, extra: object | undefined): void {
    // A later change has its own data.
    if (this.#latest.get(connection) !== change || !connection.isOpen) return;
    if (extra !== undefined) {
      connection.assignData({ ...extra, ...sessionFields(change.current) });
      this.#server.recheckTopics(connection);
    }
    void this.#runHook(connection, change);
  }

  async #runHook(connection: FollowedConnection, change: SessionChange): Promise<void> {
    if (change.changed.length === 0) return;
    try {
      await this.#options.onSessionChange?.(this.#server.contextOf(connection), change);
    } catch (error) {
      this.#server.reportOutside(error, connection.clientId);
    }
  }

  /** Handlers would read the data of another session state. */
  #fail(connection: FollowedConnection, error: unknown): void {
    this.#server.reportOutside(error, connection.clientId);
    connection.close(CLOSE.tryLater, "the connection's data could not be computed");
  }
}

/** Every field is set, so that one that is gone does not keep its old value. */
export function sessionFields(caller: SessionCaller): Record<string, string | undefined> & {
  readonly userId: string;
  readonly sessionId: string;
} {
  const { userId, sessionId, role, organizationId, organizationRole, impersonatedBy } = caller;
  return { userId, sessionId, role, organizationId, organizationRole, impersonatedBy };
}

function close(connection: FollowedConnection, reason: EndReason): void {
  if (reason === "ended") connection.close(CLOSE.unauthenticated, "the session has ended");
  else connection.close(CLOSE.tryLater, "the session could not be read");
}

function busOf({ pubsub }: FollowedServer, bus: SessionBus | false | undefined): SessionBus | undefined {
  if (bus !== undefined) return bus || undefined;
  return pubsub.spansProcesses ? pubSubBus(pubsub, TOPIC) : undefined;
}
