/** Inbound messages: parses each frame and passes it to its request, its handlers, or `onUnhandled`. */
import { type ControlType, isReservedType } from "../protocol/control.ts";
import { type Envelope, type Meta, tidyMeta } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { type ClientErrorContext, failure, only } from "./failures.ts";
import { parse } from "./frame.ts";
import { type Inbound, read, typeOf } from "./inbound.ts";
import { type Listeners, listeners } from "./listeners.ts";
import type { ClientOptions } from "./options.ts";
import type { Call, Requests } from "./requests.ts";
import { explain, text } from "./texts.ts";

/** A frame of the protocol itself. A newer server may send an unknown type. */
export type ControlFrame = Envelope & { readonly type: ControlType };

/** Reports an error to the application: to `onError`, or to the console when there is no callback. */
export type Report = (error: WsError, type?: ClientErrorContext["type"], messageType?: string) => void;

/**
 * Called with every readable frame, and the length of its text, before the client handles it. Returns whether the frame is handled;
 * must not throw.
 */
export type Intercept = (frame: Envelope, size: number) => boolean;

/** Handlers of messages, by their type. */
export type Handlers = Map<string, Listeners<[envelope: Envelope]>>;

export interface Inbox {
  received(frame: unknown): void;
  /** Returns a function that removes the handler. `among`: those of a channel. Default: those of the client. */
  on(
    schema: AnyMessageSchema,
    handle: (payload: unknown, meta: Meta) => unknown,
    among?: Handlers,
  ): () => void;
  /** The handlers of the client. */
  readonly handlers: Handlers;
  /** Receives messages without a handler. */
  readonly unhandled: Listeners<[message: Inbound]>;
  /** Reports the error of a message; with `call`, rejects this request with it. */
  refuse(
    error: unknown,
    context: ClientErrorContext["type"],
    type: string | undefined,
    call?: Pick<Call, "settle">,
  ): void;
}

export function createInbox(
  { unknownKeys = "reject" }: ClientOptions,
  requests: Requests,
  report: Report,
  thrown: (error: unknown) => void,
  control: (frame: ControlFrame, call: Call | undefined) => void,
  intercepts: ReadonlySet<Intercept>,
): Inbox {
  const handlers: Handlers = new Map();
  const unhandled = listeners<[message: Inbound]>(thrown);

  function received(frame: unknown): void {
    const envelope = parse(frame, unknownKeys);
    const { type, meta, payload } = envelope;
    const { correlationId } = meta;
    const call = requests.get(correlationId);
    if (envelope.problem !== undefined)
      return refuse(failure("INTERNAL", envelope.problem), "parse", only("string", type), call);
    if ([...intercepts].some((intercept) => intercept(envelope, (frame as string).length))) return;
    tidyMeta(meta);
    if (type === ("$ws:rpc-progress" satisfies ControlType)) return void call?.progress.emit(payload);
    if (requests.isLate(correlationId)) return;
    if (isReservedType(type)) control(envelope as ControlFrame, call);
    else if (call) {
      const { reply } = call;
      try {
        if (type !== reply.type) throw failure("INTERNAL", text("response", call.type, type, reply.type));
        call.settle(read(reply, envelope, "INTERNAL", unknownKeys));
      } catch (error) {
        refuse(error, "validation", type, call);
      }
    } else if (!handlers.get(type)?.emit(envelope)) unhandled.emit({ type, meta, payload });
  }

  function refuse(
    error: unknown,
    context: ClientErrorContext["type"],
    type: string | undefined,
    call?: Pick<Call, "settle">,
  ): void {
    const failed = explain(WsError.wrap(error, "INTERNAL"), "receive");
    call?.settle(failed);
    report(failed, context, type);
  }

  return {
    received,
    on(schema, handle, among = handlers) {
      const type = typeOf(schema);
      const ofType =
        among.get(type) ?? listeners<[envelope: Envelope]>((error) => refuse(error, "validation", type));
      among.set(type, ofType);
      return ofType.add((envelope) => {
        const { payload, meta } = read(schema, envelope, "INVALID_ARGUMENT", unknownKeys);
        // In an async function, so that a throw and a rejection of the handler are both caught here.
        (async () => handle(payload, meta))().catch(thrown);
      });
    },
    handlers,
    unhandled,
    refuse,
  };
}
