/** Requests of the server to one client: each settles exactly once, at the latest at its deadline or when the connection is gone. */
import { type Answer, type Ask, CONTROL } from "../../protocol/control.ts";
import { type Envelope, encode } from "../../protocol/envelope.ts";
import { WsError } from "../../protocol/error.ts";
import type { AnyMessageSchema, ReceivedMessage, RpcSchema } from "../../schema/message.ts";
import { notASchema } from "../../schema/message-schema.ts";
import { checkOutbound, readPart } from "../../schema/validate.ts";
import { Timeout } from "../../time/timers.ts";
import { checkFrameSize } from "../connections/frame-size.ts";
import type { AskOptions } from "../connections/peer.ts";
import type { Connection } from "../contracts.ts";

const MAX_TIMEOUT_MS = 300_000;
const MAX_CODE_LENGTH = 64;

interface PendingAsk {
  readonly response: AnyMessageSchema;
  readonly type: string;
  settle(outcome: WsError | ReceivedMessage<AnyMessageSchema>): void;
}

export class Asks {
  readonly #connection: Connection;
  /** By their ids, which are numbers of their own: the client's correlation ids may be equal. */
  readonly #pending = new Map<string, PendingAsk>();
  #lastId = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  request(
    schema: RpcSchema,
    payload: unknown,
    { timeoutMs, signal }: AskOptions,
  ): Promise<ReceivedMessage<AnyMessageSchema>> {
    return new Promise((resolve, reject) => {
      const { server } = this.#connection;
      if (Number.isNaN(timeoutMs))
        throw new WsError("INTERNAL", "timeoutMs of ctx.ws.request() is not a number. Pass a time in ms.");
      const limitMs = Math.min(Math.max(timeoutMs ?? server.options.rpcTimeoutMs, 1), MAX_TIMEOUT_MS);
      const id = String(++this.#lastId);
      const frame = this.#encode(schema, payload, id, limitMs);
      this.#check(schema.type, signal);
      const giveUp = (error: WsError): void => {
        if (!this.#pending.has(id)) return;
        this.#connection.send(CONTROL.abort, undefined, id);
        ask.settle(error);
      };
      const cancel = (): void => giveUp(cancelled(signal));
      const timeout = new Timeout(() =>
        giveUp(
          new WsError(
            "DEADLINE_EXCEEDED",
            `The client sent no response to ${schema.type} within ${limitMs} ms.`,
          ),
        ),
      );
      const ask: PendingAsk = {
        type: schema.type,
        response: schema.response,
        settle: (outcome) => {
          this.#pending.delete(id);
          server.timers.remove(timeout);
          signal?.removeEventListener("abort", cancel);
          if (outcome instanceof WsError) reject(outcome);
          else resolve(outcome);
        },
      };
      this.#pending.set(id, ask);
      server.timers.add(timeout, limitMs);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#connection.sendFrame(frame);
    });
  }

  #encode(schema: RpcSchema, payload: unknown, correlationId: string, timeoutMs: number): string {
    if (typeof schema !== "object") throw new WsError("INTERNAL", notASchema("ctx.ws.request()", schema));
    const { type, response } = schema;
    if (response === undefined)
      throw new WsError("INTERNAL", `${type} has no response. Declare one, or use ctx.send().`);
    if (schema.meta !== undefined)
      throw new WsError("INTERNAL", `${type} declares meta, which requests to a client do not have.`);
    const { clock, options } = this.#connection.server;
    checkOutbound(options.validator, schema, payload, undefined, "INTERNAL");
    const meta = { timestamp: clock.wall(), correlationId, timeoutMs };
    const frame = encode(CONTROL.ask, meta, { type, payload } satisfies Ask);
    checkFrameSize(frame, options.maxOutboundFrameBytes);
    return frame;
  }

  #check(type: string, signal: AbortSignal | undefined): void {
    const { greets, isOpen, server } = this.#connection;
    const limit = server.options.maxInflightRpcsPerSocket;
    if (signal?.aborted) throw cancelled(signal);
    if (!isOpen) throw left(type);
    if (!greets)
      throw new WsError(
        "UNIMPLEMENTED",
        "This client did not offer the subprotocol of wire, so it cannot answer requests.",
      );
    if (this.#pending.size >= limit)
      throw new WsError(
        "RESOURCE_EXHAUSTED",
        `${limit} requests to this client have no response yet, which is the limit (maxInflightRpcsPerSocket). Wait for one of them.`,
      );
  }

  /** An answer without a pending ask is ignored: the ask was cancelled, or its deadline has passed. */
  answered(id: string, envelope: Envelope): void {
    const ask = this.#pending.get(id);
    if (ask === undefined) return;
    try {
      ask.settle(this.#read(ask, envelope));
    } catch (error) {
      ask.settle(WsError.wrap(error, "INTERNAL"));
    }
  }

  #read({ type, response }: PendingAsk, envelope: Envelope): WsError | ReceivedMessage<AnyMessageSchema> {
    const answer = envelope.payload as Partial<Answer> & { type?: unknown; payload?: unknown };
    if (typeof answer?.code === "string") {
      const code = answer.code.slice(0, MAX_CODE_LENGTH);
      return new WsError(code, `The client's handler of ${type} failed with ${code}.`);
    }
    if (answer?.type !== response.type)
      return new WsError("INTERNAL", `The client's response to ${type} is not ${response.type}.`);
    const { meta } = envelope;
    const { validator } = this.#connection.server.options;
    const payload = readPart(validator, response, "payload", answer.payload, "INTERNAL");
    return { type: response.type, meta, payload } as ReceivedMessage<AnyMessageSchema>;
  }

  /** The connection is gone. */
  end(): void {
    for (const ask of [...this.#pending.values()]) ask.settle(left(ask.type));
  }
}

function cancelled(signal: AbortSignal | undefined): WsError {
  return new WsError("CANCELLED", "The server cancelled its request.", undefined, { cause: signal?.reason });
}

function left(type: string): WsError {
  return new WsError("UNAVAILABLE", `The client left before it responded to ${type}.`);
}
