"use client";
/** React hooks: the client in a context, its state as a store, and messages and requests that end with their component. */
import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { Gap } from "../protocol/control.ts";
import type { WsError } from "../protocol/error.ts";
import type { MessageArguments } from "../schema/arguments.ts";
import type { AnyChannel, Member, ParamsInput } from "../schema/channel.ts";
import type { RequestError } from "../schema/declared-errors.ts";
import type {
  AnyMessageSchema,
  DurableSchema,
  PayloadOutput,
  ProgressOutput,
  ReceivedMessage,
  RpcSchema,
} from "../schema/message.ts";
import { attachCall, type CallOptions, type DurableCall, startCall } from "./calls.ts";
import type { ChannelRoom, JoinOptions, RoomState } from "./channel-room.ts";
import { joinChannel } from "./channels.ts";
import type { ClientState } from "./connection.ts";
import { development, type Provided } from "./development.ts";
import type { StateInfo } from "./failures.ts";
import type { RequestOptions } from "./options.ts";
import type { RequestPromise } from "./progress.ts";
import { text } from "./texts.ts";
import type { SessionState, WsClient } from "./ws-client.ts";

// A package that exports its hooks names these types in its declaration files.
export type * from "./index.ts";

const ClientContext = createContext<WsClient | undefined>(undefined);

/** How many providers each client has at the moment. */
const providers = new WeakMap<WsClient, number>();

/** How the last attempt or connection of each client ended, recorded by its provider. */
const infos = new WeakMap<WsClient, StateInfo | undefined>();

/** The properties of `WireProvider`. */
export interface WireProviderProps {
  /** Create it once, outside of components. */
  readonly client: WsClient;
  /** Connect on mount and close on unmount. Default true; with false, call `connect()` and `close()` yourself. */
  readonly connect?: boolean;
  /** Components that use the client. */
  readonly children?: ReactNode;
}

/**
 * Provides the client to the hooks below it, and keeps it connected while mounted. On a server it renders without
 * connecting.
 *
 * @example
 * ```ts
 * import { wsClient } from "@halyard/wire/client/zod";
 * import { useConnectionState, useMessage, useRequest, WireProvider } from "@halyard/wire/react";
 * import { message, rpc, z } from "@halyard/wire/zod";
 * import { createElement, useState } from "react";
 *
 * const Said = message("SAID", { text: z.string() });
 * const Say = rpc("SAY", { text: z.string() }, "SAY_OK", { id: z.string() });
 * const client = wsClient({ url: "/ws" });
 *
 * function Chat() {
 *   const state = useConnectionState();
 *   const [lines, setLines] = useState<string[]>([]);
 *   useMessage(Said, ({ text }) => setLines((before) => [...before, text]));
 *   const { request, status } = useRequest(Say);
 *   return createElement("button", { onClick: () => request({ text: "hi" }), disabled: status === "pending" },
 *     `${state}: ${lines.join(", ")}`);
 * }
 *
 * export const app = createElement(WireProvider, { client }, createElement(Chat));
 * ```
 */
export function WireProvider({ client, connect = true, children }: WireProviderProps): ReactElement {
  const [provided] = useState((): Provided[] => []);
  useEffect(() => {
    development?.provided(provided, client);
    return client.onState((_state, info) => infos.set(client, info));
  }, [client, provided]);
  useEffect(() => {
    if (!connect) return undefined;
    providers.set(client, (providers.get(client) ?? 0) + 1);
    // The state and onError report how the attempt ends.
    client.connect().catch(() => undefined);
    return () => {
      providers.set(client, (providers.get(client) ?? 1) - 1);
      // Deferred: StrictMode and moves in the tree unmount and mount again at once, and should keep the connection.
      setTimeout(() => {
        if (!providers.get(client)) void client.close();
      });
    };
  }, [client, connect]);
  return createElement(ClientContext.Provider, { value: client }, children);
}

/** The client of the nearest `WireProvider`. */
export function useClient(): WsClient {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error(text("provider"));
  return client;
}

/** The client's state; the component renders again when it changes. On a server it is `closed`. */
export function useConnectionState(): ClientState {
  const client = useClient();
  return useSyncExternalStore(
    client.onState,
    () => client.state,
    () => "closed",
  );
}

/**
 * Whether the server accepts the session of this page; the component renders again when it changes. On a server it is
 * `unknown`. After `lost`, let the user sign in, then call `useClient().connect()`.
 */
export function useSession(): SessionState {
  const client = useClient();
  return useSyncExternalStore(
    client.onState,
    () => client.session,
    () => "unknown",
  );
}

/** The client's state, and how the last attempt or connection ended. */
export interface ConnectionStatus {
  /** As `client.state`. */
  readonly state: ClientState;
  /** The close code, the reason and more, when `reconnecting` or `closed` after a failure or loss. */
  readonly info: StateInfo | undefined;
}

/** The client's state with the close code and the reason; the component renders again when the state changes. */
export function useConnection(): ConnectionStatus {
  const client = useClient();
  const state = useConnectionState();
  return { state, info: infos.get(client) };
}

/** Calls the handler while mounted when published messages may be missing, such as after a reconnection. */
export function useGap(handler: (gap: Gap) => unknown): void {
  const client = useClient();
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  useEffect(() => client.onGap((gap) => latest.current(gap)), [client]);
}

/** Handles messages of one type while mounted. The handler may be a new function on each render. */
export function useMessage<S extends AnyMessageSchema>(
  schema: S,
  handler: (payload: PayloadOutput<S>, meta: ReceivedMessage<S>["meta"]) => unknown,
): void {
  const client = useClient();
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  useEffect(() => client.on(schema, (payload, meta) => latest.current(payload, meta)), [client, schema]);
}

/** The result of `useChannel`. */
export interface UseChannel<C extends AnyChannel> {
  /** The joined channel; undefined on a server, in the first render, and without parameters. */
  readonly room: ChannelRoom<C> | undefined;
  /** The state of the membership; `idle` without parameters. */
  readonly state: RoomState | "idle";
  /** With presence: the members. */
  readonly members: readonly Member<C>[];
  /** Why the last join failed, or why the server ended the membership. */
  readonly error: WsError | undefined;
}

/**
 * Joins a channel while mounted; the component renders again when the state or the members change. Other parameters join
 * another channel. With `undefined` in place of the parameters it joins nothing, such as while they load.
 *
 * @example
 * ```ts
 * import { useChannel, useChannelEvent } from "@halyard/wire/react";
 * import { channel, message, z } from "@halyard/wire/zod";
 * import { createElement, useState } from "react";
 *
 * const Said = message("SAID", { text: z.string() });
 * const Room = channel("room:{id}", { params: { id: z.string() }, events: [Said] });
 *
 * export function Chat({ id }: { id: string }) {
 *   const [lines, setLines] = useState<string[]>([]);
 *   const { room, state } = useChannel(Room, { id });
 *   useChannelEvent(room, Said, ({ text }) => setLines((before) => [...before, text]));
 *   return createElement("p", null, `${state}: ${lines.join(", ")}`);
 * }
 * ```
 */
export function useChannel<C extends AnyChannel>(
  channel: C,
  params: ParamsInput<C> | undefined,
  options?: JoinOptions,
): UseChannel<C> {
  const client = useClient();
  const [added, setAdded] = useState<{ readonly key: string; readonly room: ChannelRoom<C> }>();
  // The parameters by value: a new object with the same ones is on every render.
  const key = JSON.stringify([params, options?.last]);
  useEffect(() => {
    const [joined, last] = JSON.parse(key) as [ParamsInput<C> | null, number | null];
    if (!joined) return undefined;
    const room = joinChannel(client, channel, joined, last === null ? {} : { last });
    setAdded({ key, room });
    return () => {
      room.leave();
      // The same parameters may come again.
      setAdded(undefined);
    };
  }, [client, channel, key]);
  // Not the room of the parameters before, which is left.
  const room = added?.key === key ? added.room : undefined;
  const before = params ? "joining" : "idle";
  const state = useSyncExternalStore<UseChannel<C>["state"]>(
    useCallback((changed: () => void) => room?.onState(changed) ?? noStop, [room]),
    () => room?.state ?? before,
    () => before,
  );
  const members = useSyncExternalStore<readonly Member<C>[]>(
    useCallback((changed) => room?.onMembers(changed) ?? noStop, [room]),
    () => room?.members ?? NO_MEMBERS,
    () => NO_MEMBERS,
  );
  return { room, state, members, error: room?.error };
}

function noStop(): void {}

const NO_MEMBERS: readonly never[] = [];

/** Handles one event of a channel while mounted. The handler may be a new function on each render. */
export function useChannelEvent<C extends AnyChannel, S extends C["events"][number]>(
  room: ChannelRoom<C> | undefined,
  event: S,
  handler: (payload: PayloadOutput<S>, meta: ReceivedMessage<S>["meta"]) => unknown,
): void {
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  useEffect(() => room?.on(event, (payload, meta) => latest.current(payload, meta)), [room, event]);
}

/** The state of the last request. */
export interface RequestState<S extends RpcSchema> {
  /** `idle` before the first request. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** The response, when `success`. */
  readonly data: ReceivedMessage<S["response"]> | undefined;
  /** Why it failed, when `error`. */
  readonly error: RequestError<S> | undefined;
  /** The last progress update. */
  readonly progress: ProgressOutput<S> | undefined;
}

/** The result of `useRequest`: the state of the last request, and functions to send and cancel. */
export interface UseRequest<S extends RpcSchema> extends RequestState<S> {
  /** Sends a request. Its error is also in `error`, so the promise may be ignored. */
  readonly request: (
    ...args: MessageArguments<S, RequestOptions<S>>
  ) => RequestPromise<ReceivedMessage<S["response"]>, ProgressOutput<S>>;
  /** Cancels every request of this hook without a response. */
  readonly cancel: () => void;
}

/** Options of `useRequest()`. */
export interface UseRequestOptions {
  /** Cancel the requests without a response when the component unmounts, such as those of a search. Default false. */
  readonly cancelOnUnmount?: boolean;
}

const IDLE = { status: "idle", data: undefined, error: undefined, progress: undefined } as const;

/**
 * Sends requests and returns the state of the last one: pending, its progress, its response or its error. Earlier
 * requests continue. A request also finishes when its component unmounts, unless `cancelOnUnmount` is set.
 */
export function useRequest<S extends RpcSchema>(
  schema: S,
  { cancelOnUnmount = false }: UseRequestOptions = {},
): UseRequest<S> {
  const client = useClient();
  const [state, setState] = useState<RequestState<S>>(IDLE);
  /** The types of the requests, by what aborts them. */
  const [pending] = useState(() => new Map<AbortController, string>());
  const last = useRef<AbortController>(undefined);

  const cancel = useCallback(() => {
    for (const controller of pending.keys()) controller.abort();
  }, [pending]);

  useEffect(() => {
    if (!cancelOnUnmount) return undefined;
    return () => {
      for (const type of pending.values()) development?.unmounted(type);
      cancel();
    };
  }, [cancel, cancelOnUnmount, pending]);

  const request = useCallback(
    (...args: MessageArguments<S, RequestOptions<S>>) => {
      const [payload, { signal, ...options } = {} as RequestOptions<S>] = args;
      const controller = new AbortController();
      const abort = (): void => controller.abort(signal?.reason);
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { signal: controller.signal });
      pending.set(controller, schema.type);
      last.current = controller;
      const show = (change: Partial<RequestState<S>>): void => {
        if (last.current === controller) setState((before) => ({ ...before, ...change }));
      };
      show({ ...IDLE, status: "pending" });
      const promise = client.request(
        schema,
        ...([payload, { ...options, signal: controller.signal }] as unknown as typeof args),
      );
      promise.onProgress((progress) => show({ progress }));
      promise
        .then(
          (data) => show({ status: "success", data }),
          (error: RequestError<S>) => show({ status: "error", error }),
        )
        .finally(() => {
          pending.delete(controller);
          signal?.removeEventListener("abort", abort);
        });
      return promise;
    },
    [client, schema, pending],
  );

  return { ...state, request, cancel };
}

/** The state of the call that a `useCall` hook shows. */
export interface CallState<S extends DurableSchema> {
  /** `idle` without a call. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** The id of the call. Keep it, in the URL or in the session storage, to show the call again after a reload. */
  readonly id: string | undefined;
  /** The items so far; empty again when another call is shown. */
  readonly items: readonly ProgressOutput<S>[];
  /** The response, when `success`. */
  readonly result: ReceivedMessage<S["response"]> | undefined;
  /** Why it failed, when `error`; the code is `CANCELLED` after `cancel()`. */
  readonly error: RequestError<S> | undefined;
}

/** The result of `useCall`: the state of a call, and functions to start and to cancel. */
export interface UseCall<S extends DurableSchema> extends CallState<S> {
  /** Starts a call and shows it. The call that was shown before goes on. */
  readonly start: (...args: MessageArguments<S, CallOptions>) => DurableCall<S>;
  /** Stops the call for all its readers. */
  readonly cancel: () => Promise<void>;
}

/** Items that arrive within this time are shown together, in ms. */
const SHOW_EVERY_MS = 16;
const NO_CALL = { status: "idle", id: undefined, items: [], result: undefined, error: undefined } as const;

/**
 * Shows a durable call: one that `start()` starts, or the one with this id, such as after a reload. Without the id again,
 * the hook is `idle`. On unmount the hook stops reading, and the call goes on.
 */
export function useCall<S extends DurableSchema>(
  schema: S,
  { id }: { readonly id?: string } = {},
): UseCall<S> {
  const client = useClient();
  const [state, setState] = useState<CallState<S>>(NO_CALL);
  const shown = useRef<DurableCall<S>>(undefined);
  const attached = useRef<string>(undefined);

  const show = useCallback((call: DurableCall<S>) => {
    shown.current?.detach();
    shown.current = call;
    const items: ProgressOutput<S>[] = [];
    let isScheduled = false;
    const change = (part: Partial<CallState<S>>): void => {
      if (shown.current === call) setState((before) => ({ ...before, ...part, items: [...items] }));
    };
    const showItems = (): void => {
      isScheduled = false;
      change({});
    };
    const read = async (): Promise<void> => {
      for await (const item of call) {
        items.push(item);
        if (!isScheduled) setTimeout(showItems, SHOW_EVERY_MS);
        isScheduled = true;
      }
      change({ status: "success", result: await call.result });
    };
    setState({ ...NO_CALL, status: "pending", id: call.id });
    read().catch((error: RequestError<S>) => change({ status: "error", error }));
    return call;
  }, []);

  useEffect(() => {
    const before = attached.current;
    attached.current = id;
    // The call may be one that `start()` has started, and whose id the component has kept.
    if (id !== undefined && id !== shown.current?.id) show(attachCall(client, schema, id));
    if (id !== undefined || before === undefined || before !== shown.current?.id) return;
    shown.current.detach();
    shown.current = undefined;
    setState(NO_CALL);
  }, [client, schema, id, show]);

  useEffect(
    () => () => {
      shown.current?.detach();
      shown.current = undefined;
    },
    [],
  );

  const start = useCallback(
    (...args: MessageArguments<S, CallOptions>) => show(startCall(client, schema, ...args)),
    [client, schema, show],
  );
  const cancel = useCallback(async () => shown.current?.cancel(), []);
  return { ...state, start, cancel };
}
