/** The client object: connects the parts of this folder and implements `WsClient`. */
import { byteLength } from "../protocol/bytes.ts";
import {
  CLOSE_RESTARTING,
  type ControlType,
  DEFAULT_HEARTBEAT_TIMEOUT_MS,
  type Gap,
} from "../protocol/control.ts";
import { encode, type Meta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { tokenRefresh } from "./auth.ts";
import {
  CLOSED_NOTICE_MS,
  DEFAULT_REQUEST_TIMEOUT_MS,
  EXPIRED_AT,
  MAX_PRINTED,
  MAX_REASON_BYTES,
} from "./bounds.ts";
import type { ClientState, Connection } from "./connection.ts";
import { cores } from "./core.ts";
import { development } from "./development.ts";
import { createDriver } from "./driver.ts";
import { type Environment, later } from "./environment.ts";
import { type ClientErrorContext, errorIn, failure, lossError, only, type StateInfo } from "./failures.ts";
import type { Inbound } from "./inbound.ts";
import { type ControlFrame, createInbox, type Intercept, type Report } from "./inbox.ts";
import { createLimit } from "./limit.ts";
import { listeners } from "./listeners.ts";
import type { ClientOptions, RequestOptions, SendOptions } from "./options.ts";
import { type Outbound, write } from "./outbound.ts";
import { createOutbox } from "./outbox.ts";
import { type Progress, type RequestPromise, withProgress } from "./progress.ts";
import { type Call, createRequests } from "./requests.ts";
import { text } from "./texts.ts";
import { publicUrl, resolveUrl } from "./url.ts";
import type { WsClient } from "./ws-client.ts";

/** Control types that need no action here: the inbox and `channels.ts` handle theirs, and a client sends the others but `pong`. */
type IgnoredControlType =
  `$ws:${"rpc-progress" | "synced" | "abort" | "ping" | "pong" | "join" | "joined" | "leave" | "left" | "members" | "credit" | "answer"}`;

/** Creates a client in the given environment; tests replace `globalThis`. */
export function createClient(options: ClientOptions, environment: Environment = globalThis): WsClient {
  const { url, auth, pendingRequestsLimit = 1_000 } = options;
  let { autoConnect } = options;
  const errors = listeners<[error: WsError, context: ClientErrorContext]>(console.error);
  const states = listeners<[state: ClientState, info?: StateInfo]>(thrown);
  const gaps = listeners<[gap: Gap]>(thrown);
  const idPrefix = environment.Math.random().toString(36).slice(2);
  let lastId = 0;
  let hasOpened = false;
  /** Why the client is `closed`, or why the last attempt failed. */
  let end: WsError | undefined;
  /** Set when the server is draining: the delay before the client reconnects, in ms. */
  let drainMs: number | undefined;
  /** From this time the token counts as expired, in ms since epoch: the monotonic clock may stop while a device sleeps. */
  let expiredAt: number | undefined;
  let cancelNotice: (() => void) | undefined;
  /** The payload of the last hello. */
  let hello: Record<string, unknown> | undefined;
  /** The texts on the console since the client was last open. */
  const printed = new Set<string>();

  const report: Report = (error, type = "unknown", messageType) => {
    const { message, details = "" } = error;
    const isHandled = errors.emit(error, { type, ...(messageType && { details: { type: messageType } }) });
    if (isHandled || printed.has(message) || printed.size >= MAX_PRINTED) return;
    printed.add(message);
    console.warn(`[halyard] ${message}`, details);
  };
  const requests = createRequests(pendingRequestsLimit, environment, ended);
  const intercepts = new Set<Intercept>();
  const inbox = createInbox(options, requests, report, thrown, control, intercepts);
  const driver = createDriver(
    options,
    environment,
    changed,
    inbox.received,
    () => expiredAt !== undefined && environment.Date.now() >= expiredAt,
  );
  const outbox = createOutbox(options, environment, report, () =>
    drainMs === undefined ? driver.socket() : undefined,
  );
  const refresh =
    auth && tokenRefresh(auth, environment, (token) => sendControl("$ws:auth", { token }), report);

  function thrown(error: unknown): void {
    if (!errors.emit(WsError.wrap(error, "INTERNAL"), { type: "unknown" })) console.error(error);
  }

  function changed(
    { state, loss, attempt }: Connection,
    before: ClientState,
    retryMs: number | undefined,
  ): void {
    const isClosed = state === "closed";
    const isOpen = state === "open";
    const wasOpen = before === "open";
    const error = loss && lossError(loss, attempt, wasOpen, publicUrl(resolveUrl(url, environment)), retryMs);
    if (!isOpen) expireIn();
    drainMs = undefined;
    if (error) {
      end = error;
      requests.fail(true, error);
      if (isClosed) abandon(error);
      if (isClosed || !wasOpen) report(error);
    }
    if (state !== before) states.emit(state, error?.details as StateInfo | undefined);
    if (isOpen) {
      printed.clear();
      // After the joins of channels: a queued message may require the membership.
      outbox.flush();
      if (hasOpened) gaps.emit({ reason: "reconnect" });
      hasOpened = true;
    }
  }

  /** The token is valid for this much longer, in ms; undefined: it does not expire. */
  function expireIn(ms?: number): void {
    refresh?.(ms);
    expiredAt = auth && ms && environment.Date.now() + EXPIRED_AT * ms;
  }

  /** Drops the queue and rejects every pending request. */
  function abandon(why: WsError): void {
    end = why;
    cancelNotice?.();
    cancelNotice = undefined;
    requests.fail(false, why);
    outbox.clear();
  }

  /** Ends the connection and every attempt at one. */
  function stop(why: WsError, code = 1000, reason = ""): void {
    drainMs = undefined;
    abandon(why);
    driver.dispatch({ type: "close", code, reason });
  }

  /** A request was settled. */
  function ended(call: Call, isCancelled: boolean): void {
    outbox.queue.delete(call);
    if (isCancelled && call.isSent) sendControl("$ws:abort", undefined, { correlationId: call.id });
    leaveWhenDrained();
  }

  /** Leaves a draining server once every request has its response, as if the server had closed the connection. */
  function leaveWhenDrained(): void {
    if (drainMs !== undefined && !requests.busy())
      driver.dispatch({ type: "lost", code: CLOSE_RESTARTING, reason: `retryAfterMs=${drainMs}` });
  }

  function sendControl(type: ControlType, payload?: object, meta: Meta = {}): void {
    driver.socket()?.send(encode(type, meta, payload));
  }

  function control({ type, meta, payload }: ControlFrame, call: Call | undefined): void {
    const fields = only("object", payload) ?? {};
    const number = (name: string): number | undefined => only("number", fields[name]);
    const expires = (): void => {
      const expiresAt = number("expiresAt");
      // Both times are from the server's clock, which may differ from the client's.
      expireIn(expiresAt && expiresAt - (meta.timestamp ?? environment.Date.now()));
    };
    switch (type) {
      case "$ws:hello":
        hello = fields;
        outbox.maxBytes = number("maxPayloadBytes");
        driver.dispatch({
          type: "hello",
          heartbeatMs: number("heartbeatMs") ?? 0,
          timeoutMs: number("timeoutMs") ?? DEFAULT_HEARTBEAT_TIMEOUT_MS,
        });
        return expires();
      case "$ws:auth":
        return expires();
      case "$ws:error": {
        const error = errorIn(fields);
        call?.readError?.(error, core);
        return call ? call.settle(error) : report(error);
      }
      case "$ws:sync":
        return sendControl("$ws:synced", { id: fields["id"] });
      // `handle()` intercepts what it has a handler for.
      case "$ws:ask":
        return sendControl("$ws:answer", { code: "UNIMPLEMENTED" }, meta);
      case "$ws:drain":
        drainMs = number("retryAfterMs") ?? 0;
        return leaveWhenDrained();
      case "$ws:gap":
        gaps.emit(fields as unknown as Gap);
    }
    void (type satisfies IgnoredControlType | "$ws:gap");
  }

  /** Resolves when the client reaches the state. `orEnd`: rejects when the client ends before that. */
  function reach(wanted: ClientState, orEnd?: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = states.add((state) => {
        if (state === wanted) resolve();
        else if (orEnd && state === "closed") reject(end);
        else return;
        stop();
      });
    });
  }

  function submit(outbound: Outbound): boolean {
    const isSent = outbox.submit(outbound);
    if (autoConnect) client.connect().catch(() => undefined);
    else if (client.state === "closed" && outbox.queue.has(outbound))
      cancelNotice ??= later(
        environment,
        () => {
          cancelNotice = undefined;
          if (client.state === "closed")
            report(failure("UNAVAILABLE", text("queue", outbound.type, end?.message)));
        },
        CLOSED_NOTICE_MS,
      );
    return isSent;
  }

  const client: WsClient = {
    get state() {
      return driver.state();
    },
    get session() {
      const isLost = client.state === "closed" && end?.code === "UNAUTHENTICATED";
      return isLost ? "lost" : hasOpened ? "active" : "unknown";
    },
    get isConnected() {
      return client.state === "open";
    },
    get protocol() {
      return driver.socket()?.protocol ?? "";
    },
    async connect({ attempts, timeoutMs, signal } = {}) {
      autoConnect = false;
      const endBefore = end;
      try {
        resolveUrl(url, environment);
      } catch (error) {
        report(error as WsError);
        throw error;
      }
      if (client.state === "closing") await reach("closed");
      // close() was called meanwhile.
      if (end !== endBefore) throw end;
      if (client.isConnected) return;
      const waiting = createLimit(
        environment,
        timeoutMs,
        signal,
        () => failure("DEADLINE_EXCEEDED", text("timeoutMs", timeoutMs), { cause: end }),
        stop,
      );
      const opened = reach("open", true);
      driver.dispatch({ type: "connect", attempts });
      await opened.finally(waiting.stop);
    },
    async onceOpen() {
      if (!client.isConnected) await reach("open");
    },
    async close({ code = 1000, reason = "" } = {}) {
      if ((code !== 1000 && !(code >= 3000 && code <= 4999)) || byteLength(reason) > MAX_REASON_BYTES) {
        throw failure("INVALID_ARGUMENT", text("close"));
      }
      stop(failure("UNAVAILABLE", text("closed")), code, reason);
      if (client.state !== "closed") await reach("closed");
    },
    on: inbox.on as WsClient["on"],
    send(schema, ...args) {
      const [payload, { meta, correlationId = meta?.correlationId, queue } = {} as SendOptions] = args;
      const timestamp = environment.Date.now();
      const frame = write(schema, payload, { timestamp, ...meta, correlationId });
      return submit({ type: schema.type, frame, queue });
    },
    request(
      schema: AnyMessageSchema,
      payload?: unknown,
      third?: AnyMessageSchema | RequestOptions,
      fourth?: RequestOptions,
    ): RequestPromise<never> {
      const progress: Progress = listeners<[data: unknown]>(thrown);
      let call: Call | undefined;
      const promise = new Promise<Inbound>((resolve, reject) => {
        const [reply, options = {}] =
          third && "type" in third ? [third, fourth] : [schema?.response, third as RequestOptions];
        const {
          meta,
          signal,
          timeoutMs: silenceMs = DEFAULT_REQUEST_TIMEOUT_MS,
          deadlineMs = silenceMs,
          correlationId = meta?.correlationId ?? `${idPrefix}-${++lastId}`,
        } = options;
        const timeoutMs = Math.min(silenceMs, deadlineMs);
        const timestamp = environment.Date.now();
        const frame = write(schema, payload, { timestamp, ...meta, correlationId, timeoutMs });
        const { type, stream, readError } = schema;
        if (!reply) throw failure("INVALID_ARGUMENT", text("response", type));
        call = requests.open(
          { id: correlationId, type, frame, reply, readError, progress, resolve, reject },
          stream ? undefined : timeoutMs,
          signal,
        );
        stream?.(core, call, options);
        submit(call);
      });
      return withProgress(promise, progress, () => call?.cancel()) as RequestPromise<never>;
    },
    onState: states.add,
    onSessionLost: (callback) => states.add((_, info) => client.session === "lost" && callback(info)),
    onUnhandled: inbox.unhandled.add,
    onError: errors.add,
    onGap: gaps.add,
  };
  const core = [
    options,
    environment,
    report,
    thrown,
    inbox,
    intercepts,
    () => hello,
    sendControl,
    failure,
    errorIn,
  ] as const;
  cores.set(client, core);
  return client;
}

/**
 * Creates a client for the server at `url`. Call `connect()` to connect. The client reconnects by itself when the
 * connection is lost, and queues messages sent in the meantime.
 *
 * @example
 * ```ts
 * import { wsClient } from "@halyard/wire/client";
 * import { message, rpc, z } from "@halyard/wire/zod";
 *
 * const Greet = rpc("GREET", { name: z.string() }, "GREETING", { text: z.string() });
 * const Said = message("SAID", { text: z.string() });
 *
 * const client = wsClient({ url: "ws://localhost:3000", auth: { getToken: () => "ticket", attach: "protocol" } });
 * client.onState((state) => console.log(state));
 * client.on(Said, ({ text }) => console.log(text));
 * await client.connect();
 * const { payload } = await client.request(Greet, { name: "Ada" }, { timeoutMs: 5_000 });
 * payload.text.toUpperCase();
 * ```
 */
export function wsClient(options: ClientOptions): WsClient {
  development?.options(options);
  return createClient(options);
}
