"use client";
/** React: the client in a context, its state as a store, messages and requests that end with their component. */
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
import type { WsError } from "../protocol/error.ts";
import type {
  AnyMessageSchema,
  MessageArguments,
  PayloadOutput,
  ReceivedMessage,
  RpcSchema,
} from "../schema/message.ts";
import type { ClientState } from "./link.ts";
import type { RequestOptions } from "./options.ts";
import type { RequestPromise } from "./progress.ts";
import type { WsClient } from "./ws-client.ts";

const ClientContext = createContext<WsClient | undefined>(undefined);

/** How many providers each client has at the moment. */
const providers = new WeakMap<WsClient, number>();

export interface WireProviderProps {
  /** Made once, outside of components. */
  readonly client: WsClient;
  /** Connect while mounted, and close afterwards. Default true; false leaves `connect()` and `close()` to you. */
  readonly connect?: boolean;
  readonly children?: ReactNode;
}

/**
 * Gives the client to the hooks below it, and keeps it connected while mounted. Renders on a server too, where it
 * connects nothing.
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
  useEffect(() => {
    if (!connect) return undefined;
    providers.set(client, (providers.get(client) ?? 0) + 1);
    // How an attempt ends is told by the state and by onError.
    client.connect().catch(() => undefined);
    return () => {
      providers.set(client, (providers.get(client) ?? 1) - 1);
      // Later, because StrictMode and moves in the tree mount again at once, which should not cost a connection.
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
  if (client === undefined)
    throw new Error("There is no client here. Put a <WireProvider client={…}> around this component.");
  return client;
}

/** The client's state; renders again when it changes. On a server it is `closed`. */
export function useConnectionState(): ClientState {
  const client = useClient();
  return useSyncExternalStore(
    client.onState,
    () => client.state,
    () => "closed",
  );
}

/** Handles messages of one type while mounted. The handler may be another function on each render. */
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

/** What became of the last request. */
export interface RequestState<S extends RpcSchema> {
  readonly status: "idle" | "pending" | "success" | "error";
  /** The answer, when `success`. */
  readonly data: ReceivedMessage<S["response"]> | undefined;
  /** Why it failed, when `error`. */
  readonly error: WsError | undefined;
  /** The last progress update. */
  readonly progress: unknown;
}

export interface UseRequest<S extends RpcSchema> extends RequestState<S> {
  /** Sends a request. What it rejects with is also in `error`, so the promise may be left alone. */
  readonly request: (
    ...args: MessageArguments<S, RequestOptions<S>>
  ) => RequestPromise<ReceivedMessage<S["response"]>>;
  /** Cancels every request of this hook that has no answer yet. */
  readonly cancel: () => void;
}

const IDLE = { status: "idle", data: undefined, error: undefined, progress: undefined } as const;

/**
 * Sends requests and renders what becomes of the last one: pending, its progress, its answer or its error. Earlier
 * ones go on. Those without an answer are cancelled when the component is unmounted.
 */
export function useRequest<S extends RpcSchema>(schema: S): UseRequest<S> {
  const client = useClient();
  const [state, setState] = useState<RequestState<S>>(IDLE);
  const [pending] = useState(() => new Set<AbortController>());
  const last = useRef<AbortController>(undefined);

  const cancel = useCallback(() => {
    for (const controller of pending) controller.abort();
  }, [pending]);

  useEffect(() => cancel, [cancel]);

  const request = useCallback(
    (...args: MessageArguments<S, RequestOptions<S>>) => {
      const [payload, { signal, ...options } = {} as RequestOptions<S>] = args;
      const controller = new AbortController();
      const abort = (): void => controller.abort(signal?.reason);
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { signal: controller.signal });
      pending.add(controller);
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
          (error: WsError) => show({ status: "error", error }),
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
