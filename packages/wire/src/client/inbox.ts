/** What the server says: read, then to the request it answers, to its handlers, or to nobody. */
import { CONTROL, isReservedType } from "../protocol/control.ts";
import { type Envelope, type Meta, parse } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { type ClientErrorContext, failure } from "./failures.ts";
import { type Inbound, read } from "./inbound.ts";
import { type Listeners, listeners } from "./listeners.ts";
import type { ClientOptions } from "./options.ts";
import type { Call, Requests } from "./requests.ts";

/** A larger frame is not read. */
const MAX_FRAME_CHARACTERS = 2 ** 24;

interface Handler {
  readonly schema: AnyMessageSchema;
  readonly handle: (payload: unknown, meta: Meta) => unknown;
}

/** Tells the application of an error; false when nobody listens. */
export type Report = (error: WsError, type?: ClientErrorContext["type"], messageType?: string) => boolean;

export interface Inbox {
  received(frame: unknown): void;
  /** Gives a function that takes the handler out again. */
  on(handler: Handler): () => void;
  /** Messages that no handler took. */
  readonly unhandled: Listeners<[message: Inbound]>;
}

export function createInbox(
  { unknownKeys = "reject" }: ClientOptions,
  requests: Requests,
  report: Report,
  thrown: (error: unknown) => void,
  control: (envelope: Envelope, call: Call | undefined) => void,
): Inbox {
  const handlers = new Set<Handler>();
  const unhandled = listeners<[message: Inbound]>(thrown);

  function received(frame: unknown): void {
    const envelope =
      typeof frame === "string" && frame.length <= MAX_FRAME_CHARACTERS
        ? parse(frame, unknownKeys)
        : { problem: "It is binary or too large.", type: undefined, correlationId: undefined };
    if (envelope.problem !== undefined) {
      const { problem, type, correlationId } = envelope;
      return fail(requests.get(correlationId), failure("INTERNAL", problem), "parse", type);
    }
    const { type, meta, payload } = envelope;
    const call = requests.get(meta.correlationId);
    if (type === CONTROL.progress) call?.progress.emit(payload);
    else if (requests.isLate(meta.correlationId)) return;
    else if (isReservedType(type)) control(envelope, call);
    else if (call) answer(call, envelope);
    else if (!deliver(envelope)) unhandled.emit({ type, meta, payload });
  }

  function answer(call: Call, envelope: Envelope): void {
    const { type } = call.reply;
    try {
      if (envelope.type !== type) throw failure("INTERNAL", `${envelope.type} is no answer: ${type} is.`);
      requests.settle(call, read(call.reply, envelope, unknownKeys, "INTERNAL"));
    } catch (error) {
      fail(call, error, "validation", envelope.type);
    }
  }

  /** False when there is no handler of this type. */
  function deliver(envelope: Envelope): boolean {
    let isTaken = false;
    for (const handler of [...handlers]) {
      // One that an earlier handler took out does not run any more.
      if (handler.schema.type !== envelope.type || !handlers.has(handler)) continue;
      isTaken = true;
      try {
        const { payload, meta } = read(handler.schema, envelope, unknownKeys, "INVALID_ARGUMENT");
        // Inside a promise, where neither a throw nor a rejection of the application's stops us.
        new Promise((resolve) => resolve(handler.handle(payload, meta))).catch(thrown);
      } catch (error) {
        fail(undefined, error, "validation", envelope.type);
      }
    }
    return isTaken;
  }

  function fail(
    call: Call | undefined,
    thrownError: unknown,
    context: ClientErrorContext["type"],
    type: string | undefined,
  ): void {
    const error = WsError.wrap(thrownError, "INTERNAL");
    if (call) requests.settle(call, error);
    report(error, context, type);
  }

  return {
    received,
    on(handler) {
      handlers.add(handler);
      return () => void handlers.delete(handler);
    },
    unhandled,
  };
}
