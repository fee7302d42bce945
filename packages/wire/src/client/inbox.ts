/** What the server says: read, then to the request it answers, to its handlers, or to nobody. */
import { type ControlType, isReservedType } from "../protocol/control.ts";
import type { Envelope, Meta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { type ClientErrorContext, failure, only } from "./failures.ts";
import { parse } from "./frame.ts";
import { type Inbound, read } from "./inbound.ts";
import { type Listeners, listeners } from "./listeners.ts";
import type { ClientOptions } from "./options.ts";
import type { Call, Requests } from "./requests.ts";

const PROGRESS: ControlType = "$ws:rpc-progress";

/** Tells the application of an error; false when nobody listens. */
export type Report = (error: WsError, type?: ClientErrorContext["type"], messageType?: string) => boolean;

export interface Inbox {
  received(frame: unknown): void;
  /** Gives a function that takes the handler out again. */
  on(schema: AnyMessageSchema, handle: (payload: unknown, meta: Meta) => unknown): () => void;
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
  const handlers = new Map<string, Listeners<[envelope: Envelope]>>();
  const unhandled = listeners<[message: Inbound]>(thrown);

  function received(frame: unknown): void {
    const envelope = parse(frame, unknownKeys);
    const { type, meta, payload } = envelope;
    const { correlationId } = meta;
    const call = requests.get(correlationId);
    if (envelope.problem !== undefined)
      return refuse(failure("INTERNAL", envelope.problem), "parse", only("string", type), call);
    if (type === PROGRESS) call?.progress.emit(payload);
    else if (requests.isLate(correlationId)) return;
    else if (isReservedType(type)) control(envelope, call);
    else if (call) answer(call, envelope);
    else if (!handlers.get(type)?.emit(envelope)) unhandled.emit({ type, meta, payload });
  }

  function answer(call: Call, envelope: Envelope): void {
    const { reply } = call;
    const { type } = envelope;
    try {
      if (type !== reply.type) throw failure("INTERNAL", `${type} is no answer: ${reply.type} is.`);
      call.settle(read(reply, envelope, "INTERNAL", unknownKeys));
    } catch (error) {
      refuse(error, "validation", type, call);
    }
  }

  function refuse(
    error: unknown,
    context: ClientErrorContext["type"],
    type: string | undefined,
    call?: Call,
  ): void {
    const known = WsError.wrap(error, "INTERNAL");
    call?.settle(known);
    report(known, context, type);
  }

  return {
    received,
    on(schema, handle) {
      const { type } = schema;
      const others =
        handlers.get(type) ?? listeners<[envelope: Envelope]>((error) => refuse(error, "validation", type));
      handlers.set(type, others);
      const remove = others.add((envelope) => {
        const { payload, meta } = read(schema, envelope, "INVALID_ARGUMENT", unknownKeys);
        // Inside a promise, where neither a throw nor a rejection of the application's stops us.
        (async () => handle(payload, meta))().catch(thrown);
      });
      return () => {
        remove();
        if (others.isEmpty() && handlers.get(type) === others) handlers.delete(type);
      };
    },
    unhandled,
  };
}
