/** The topics of one connection: authorization, the limit, and `ctx.topics`. */
import { WsError } from "../../protocol/error.ts";
import type { AnyData } from "../connections/peer.ts";
import type { ConnectionContext, Topics } from "../context.ts";
import type { Connection } from "../contracts.ts";
import { pendingOf } from "../pending.ts";
import { endAttempt, overtakeAttempts, startAttempt } from "./subscription-attempts.ts";
import { unawaited, watch } from "./subscription-promise.ts";
import { inTime, RECHECK_TIMEOUT_MS } from "./time-limit.ts";

const MAX_TOPIC_LENGTH = 256;

/** Names beginning with "$" are reserved: a plain topic must not bypass the authorization of a channel. */
export const TOPIC_RULE: string = `The topic must be a string of 1 to ${MAX_TOPIC_LENGTH} characters that does not begin with "$".`;

export function isTopic(topic: unknown): topic is string {
  return (
    typeof topic === "string" &&
    topic.length > 0 &&
    topic.length <= MAX_TOPIC_LENGTH &&
    !topic.startsWith("$")
  );
}

/** The topics whose frames a connection gets: those it subscribed to, and those of the channels it is a live member of. */
export function* topicsOf({ topics, memberships }: Connection): Iterable<string> {
  yield* topics ?? [];
  for (const { topic, isLive } of memberships?.values() ?? []) if (isLive) yield topic;
}

/**
 * Synchronous unless `authorizeTopic` or the pub/sub is asynchronous. Subscribing twice has no further effect. A failure
 * that no caller waits for is reported to `onError`.
 */
export function subscribe(
  connection: Connection,
  ctx: ConnectionContext<AnyData>,
  topic: string,
): void | Promise<void> {
  const pending = begin(connection, ctx, topic);
  return pending && watch(pending, (error) => connection.server.report(unawaited(topic, error), ctx));
}

function begin(connection: Connection, ctx: ConnectionContext<AnyData>, topic: string): void | Promise<void> {
  if (!isTopic(topic)) {
    throw new WsError("INVALID_ARGUMENT", TOPIC_RULE);
  }
  if (connection.topics?.has(topic)) return connection.server.confirmed(topic);
  const { authorizeTopic } = connection.server.options;
  const ask = (): boolean | Promise<boolean> => authorizeTopic === undefined || authorizeTopic(ctx, topic);
  const allowed = ask();
  if (typeof allowed === "boolean") return admit(connection, topic, allowed);
  return authorized(connection, topic, allowed, ask);
}

async function authorized(
  connection: Connection,
  topic: string,
  allowed: Promise<boolean>,
  ask: () => boolean | Promise<boolean>,
): Promise<void> {
  const attempts = startAttempt(connection, topic);
  try {
    let { authorization } = connection;
    let verdict = await allowed;
    // The connection's data has changed since: the verdict may rest on the old data.
    while (connection.authorization !== authorization) {
      authorization = connection.authorization;
      verdict = await ask();
    }
    // The connection has left the topic since: the later call wins.
    if (!attempts.hasLeft) await admit(connection, topic, verdict);
  } finally {
    endAttempt(connection, topic, attempts);
  }
}

/**
 * Runs `authorizeTopic` again for the topics of a connection whose data has changed. Subscriptions that it refuses end, and
 * so do those for which it fails.
 */
export function reauthorize(connection: Connection, ctx: ConnectionContext<AnyData>): void {
  connection.authorization++;
  const { authorization, server } = connection;
  server.channels.recheck(connection);
  const { authorizeTopic } = server.options;
  if (authorizeTopic === undefined) return;
  for (const topic of [...(connection.topics ?? [])]) {
    const settle = (verdict: unknown): void => {
      // A later change runs it again.
      if (verdict === true || connection.authorization !== authorization || !connection.isOpen) return;
      void unsubscribe(connection, topic);
    };
    const fail = (error: unknown): void => {
      server.report(error, ctx);
      settle(false);
    };
    try {
      const verdict = authorizeTopic(ctx, topic);
      const pending = pendingOf(verdict);
      if (pending === undefined) settle(verdict);
      else inTime(pending, server.timers, RECHECK_TIMEOUT_MS, OVERDUE).then(settle, fail);
    } catch (error) {
      fail(error);
    }
  }
}

const OVERDUE = `authorizeTopic did not settle within ${RECHECK_TIMEOUT_MS} ms after the session changed, so the subscription was ended. Give the calls it makes a shorter timeout.`;

function admit(connection: Connection, topic: string, allowed: boolean): void | Promise<void> {
  if (allowed !== true)
    throw new WsError("PERMISSION_DENIED", "This connection is not allowed to subscribe to the topic.");
  // Checked after the authorization, which may have taken a while.
  if (!connection.isOpen) return;
  if (connection.topics?.has(topic)) return connection.server.confirmed(topic);
  const limit = connection.server.options.maxTopicsPerConnection;
  connection.topics ??= new Set();
  if (connection.topics.size >= limit) {
    throw new WsError(
      "RESOURCE_EXHAUSTED",
      `This connection already has ${limit} topics, which is the limit. Unsubscribe from one first.`,
      undefined,
      { retryable: false },
    );
  }
  connection.topics.add(topic);
  connection.socket.changed?.("topics");
  return enroll(connection, topic);
}

/** Makes a connection with the topic a member of it; takes the topic from the connection when the pub/sub fails. */
export function enroll(connection: Connection, topic: string): void | Promise<void> {
  const confirmed = connection.server.subscribe(connection, topic);
  if (confirmed === undefined) return;
  const attempts = startAttempt(connection, topic);
  return confirmed.then(
    () => endAttempt(connection, topic, attempts),
    (error: unknown) => {
      endAttempt(connection, topic, attempts);
      // After leaving, the connection may have joined again: that call has its own result.
      if (!attempts.hasLeft) void remove(connection, topic);
      throw error;
    },
  );
}

export function unsubscribe(connection: Connection, topic: string): void | Promise<void> {
  overtakeAttempts(connection, topic);
  return remove(connection, topic);
}

function remove(connection: Connection, topic: string): void | Promise<void> {
  if (!connection.topics?.delete(topic)) return;
  connection.socket.changed?.("topics");
  return connection.server.unsubscribe(connection, topic);
}

/** `ctx.topics`. */
export class ConnectionTopics implements Topics {
  readonly #connection: Connection;
  readonly #ctx: ConnectionContext<AnyData>;

  constructor(connection: Connection, ctx: ConnectionContext<AnyData>) {
    this.#connection = connection;
    this.#ctx = ctx;
  }

  subscribe(topic: string): Promise<void> {
    return this.subscribeMany([topic]);
  }

  subscribeMany(topics: Iterable<string>): Promise<void> {
    let current = "";
    const subscribeAll = async (): Promise<void> => {
      for (const topic of topics) {
        current = topic;
        await begin(this.#connection, this.#ctx, topic);
      }
    };
    return watch(subscribeAll(), (error) =>
      this.#connection.server.report(unawaited(current, error), this.#ctx),
    );
  }

  async unsubscribe(topic: string): Promise<void> {
    await unsubscribe(this.#connection, topic);
  }

  has(topic: string): boolean {
    return this.#connection.topics?.has(topic) ?? false;
  }

  list(): readonly string[] {
    return [...(this.#connection.topics ?? [])];
  }
}
