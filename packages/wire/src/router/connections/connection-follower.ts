/** The interface of code that follows a server's connections from outside, such as the sessions behind them. */
import type { PubSub } from "../../pubsub/pubsub.ts";
import type { OpenContext } from "../context.ts";
import type { AnyData, Peer } from "./peer.ts";

/** A connection as a follower sees it. */
export interface FollowedConnection extends Peer<AnyData> {
  /** Whether frames can still be sent. */
  readonly isOpen: boolean;
  /** Merges fields into the connection's data. */
  assignData(partial: Record<string, unknown>): void;
  /** Closes the connection with 4401 at this wall time in ms, unless called again; undefined: never. */
  expireAt(expiresAt: number | undefined): void;
}

/** A running server as a follower sees it. */
export interface FollowedServer {
  /** Whether the server runs in a Durable Object. */
  readonly isIsolated: boolean;
  /** Carries the topics of the server. */
  readonly pubsub: PubSub;
  /** Runs `authorizeTopic` again for every topic of the connection, and ends the subscriptions it refuses. */
  recheckTopics(connection: FollowedConnection): void;
  /** The context for a hook of the application. */
  contextOf(connection: FollowedConnection): OpenContext<AnyData>;
  /** Reports a failure that belongs to no message, but perhaps to a connection. */
  reportOutside(thrown: unknown, clientId?: string): void;
}

/** Gets every connection of a server. */
export interface ConnectionFollower {
  /** A connection was accepted, or restored. No hook has run yet. */
  opened(connection: FollowedConnection): void;
  /** The connection is gone. */
  closed(connection: FollowedConnection): void;
  /** The server stops. */
  stopped(): void;
}

/** Starts to follow a server. An `authenticate` function may have it as its member `follow`. */
export type FollowConnections = (server: FollowedServer) => ConnectionFollower;
