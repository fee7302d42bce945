/** The client: one typed connection from a browser or any runtime with a WebSocket. */
import { byteLength } from "../protocol/bytes.ts";
import { CLOSE_RESTARTING, type ControlType, type Gap } from "../protocol/control.ts";
import { type Envelope, encode, type Meta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { address, tokenRefresh } from "./auth.ts";
import { DEFAULT_HEARTBEAT_TIMEOUT_MS, DEFAULT_REQUEST_TIMEOUT_MS, MAX_REASON_BYTES } from "./bounds.ts";
import { createDriver } from "./driver.ts";
import type { Environment } from "./environment.ts";
import { type ClientErrorContext, errorIn, failure, only } from "./failures.ts";
import type { Inbound } from "./inbound.ts";
import { createInbox, type Report } from "./inbox.ts";
import { type ClientState, FATAL, type Link } from "./link.ts";
import { listeners } from "./listeners.ts";
import type { ClientOptions, RequestOptions, SendOptions } from "./options.ts";
import { type Outbound, write } from "./outbound.ts";
import { createOutbox } from "./outbox.ts";
import { type RequestPromise, withProgress } from "./progress.ts";
import { type Call, createRequests } from "./requests.ts";
import type { WsClient } from "./ws-client.ts";

/** The client in an environment of choice. */
export function createClient(options: ClientOptions, environment: Environment = globalThis): WsClient {
  const { auth, autoConnect, pendingRequestsLimit = 1_000 } = options;
  const errors = listeners<[error: WsError, context: ClientErrorContext]>(console.error);
  const states = listeners<[state: ClientState]>(thrown);
  const gaps = listeners<[gap: Gap]>(thrown);
  const idPrefix = environment.Math.random().toString(36).slice(2);
  let lastId = 0;
  let hasTried = false;
  let closings = 0;
  /** Why the client is `closed`. */
  let end: WsError;
  /** The server is going away, and wants us back after this long. */
  let drainMs: number | undefined;

  const report: Report = (error, type = "unknown", messageType) =>
    errors.emit(error, { type, ...(messageType && { details: { type: messageType } }) });
  const requests = createRequests(pendingRequestsLimit, environment, ended);
  const inbox = createInbox(options, requests, report, thrown, control);
  const driver = createDriver(options, environment, changed, inbox.received, report);
  const outbox = createOutbox(options, environment, report, () =>
    drainMs === undefined ? driver.socket() : undefined,
  );
  const refresh = auth && tokenRefresh(auth, environment, (token) => say("$ws:auth", { token }), report);

  function thrown(error: unknown): void {
    if (!report(WsError.wrap(error, "INTERNAL"))) console.error(error);
  }

  function changed({ state, loss }: Link): void {
    drainMs = undefined;
    if (state === "open") outbox.flush();
    else {
      refresh?.();
      requests.failAll(true, "The link was lost.");
    }
    if (loss) {
      const { code = 0, error } = loss;
      const message = `The link has ended for good${code ? ` (${code})` : ""}.`;
      abandon(failure(FATAL[code] ?? "UNAVAILABLE", message, error && { cause: error }));
      report(end);
    }
    states.emit(state);
  }

  /** Ends everything that waits for a link. */
  function abandon(why: WsError): void {
    end = why;
    outbox.queue.clear();
    requests.failAll(false, why.message, { cause: why });
  }

  /** A request has its outcome. */
  function ended(call: Call, isAborted: boolean | undefined): void {
    outbox.queue.delete(call);
    if (isAborted && call.isSent) say("$ws:abort", undefined, { correlationId: call.id });
    leaveWhenDrained();
  }

  /** Leaves a server that is going away, once it has answered: as if it had closed the connection itself. */
  function leaveWhenDrained(): void {
    if (drainMs !== undefined && !requests.isBusy())
      driver.dispatch({ type: "lost", code: CLOSE_RESTARTING, reason: `retryAfterMs=${drainMs}` });
  }

  /** Sends a control frame. */
  function say(type: ControlType, payload?: object, meta: Meta = {}): void {
    driver.socket()?.send(encode(type, meta, payload));
  }

  function control({ type, meta, payload }: Envelope, call: Call | undefined): void {
    const fields = only("object", payload) ?? {};
    const number = (name: string): number | undefined => only("number", fields[name]);
    const expires = (): void => {
      const expiresAt = number("expiresAt");
      // Both times are the server's: its clock may not be ours.
      refresh?.(expiresAt && expiresAt - (meta.timestamp ?? environment.Date.now()));
    };
    switch (type as ControlType) {
      case "$ws:hello":
        outbox.maxFrameBytes = number("maxPayloadBytes");
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
        if (call) call.settle(error);
        else report(error);
        return;
      }
      case "$ws:sync":
        return say("$ws:synced", { id: fields["id"] });
      case "$ws:drain":
        drainMs = number("retryAfterMs") ?? 0;
        return leaveWhenDrained();
      case "$ws:gap":
        gaps.emit(fields as unknown as Gap);
    }
  }

  /** Resolves when the client comes into the state. `orEnd`: rejects when it ends before. */
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
    if (autoConnect && !hasTried) client.connect().catch(() => undefined);
    return isSent;
  }

  const client: WsClient = {
    get state() {
      return driver.state();
    },
    get isConnected() {
      return client.state === "open";
    },
    get protocol() {
      return driver.socket()?.protocol ?? "";
    },
    async connect() {
      hasTried = true;
      const asked = closings;
      try {
        address(options, environment, null);
      } catch {
        const error = failure("INVALID_ARGUMENT", "url is not a URL.");
        report(error);
        throw error;
      }
      if (client.state === "closing") await reach("closed");
      if (asked !== closings) throw end;
      if (client.isConnected) return;
      const opened = reach("open", true);
      driver.dispatch({ type: "connect" });
      await opened;
    },
    async onceOpen() {
      if (!client.isConnected) await reach("open");
    },
    async close({ code = 1000, reason = "" } = {}) {
      if ((code !== 1000 && !(code >= 3000 && code <= 4999)) || byteLength(reason) > MAX_REASON_BYTES) {
        throw failure(
          "INVALID_ARGUMENT",
          "Close with 1000 or 3000 to 4999, and at most 123 bytes of reason.",
        );
      }
      closings++;
      drainMs = undefined;
      abandon(failure("UNAVAILABLE", "The client was closed."));
      driver.dispatch({ type: "close", code, reason });
      if (client.state !== "closed") await reach("closed");
    },
    on: inbox.on as WsClient["on"],
    send(schema, ...args) {
      const [payload, { meta, correlationId = meta?.correlationId } = {} as SendOptions] = args;
      const timestamp = environment.Date.now();
      const frame = write(schema, payload, { timestamp, ...meta, correlationId });
      return submit({ type: schema.type, frame });
    },
    request(
      schema: AnyMessageSchema,
      payload?: unknown,
      third?: AnyMessageSchema | RequestOptions,
      fourth?: RequestOptions,
    ): RequestPromise<never> {
      const progress = listeners<[data: unknown]>(thrown);
      const promise = new Promise<Inbound>((resolve, reject) => {
        const [reply, options = {}] =
          third && "type" in third ? [third, fourth] : [schema.response, third as RequestOptions];
        const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, meta, signal } = options;
        const id = options.correlationId ?? meta?.correlationId ?? `${idPrefix}-${++lastId}`;
        const timestamp = environment.Date.now();
        const frame = write(schema, payload, { timestamp, ...meta, correlationId: id, timeoutMs });
        const { type } = schema;
        if (!reply) throw failure("INVALID_ARGUMENT", `${type} has no response.`);
        const call = requests.open({ id, type, frame, reply, progress, resolve, reject }, timeoutMs, signal);
        if (!signal?.aborted) submit(call);
      });
      return withProgress(promise, progress) as RequestPromise<never>;
    },
    onState: states.add,
    onUnhandled: inbox.unhandled.add,
    onError: errors.add,
    onGap: gaps.add,
  };
  return client;
}

/**
 * Makes a client for the server at `url`. It connects with `connect()`, comes back by itself when the link is lost, and
 * queues what is sent meanwhile.
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
  return createClient(options);
}
