/** The live values of one client: subscribes on the socket, applies what the server pushes, and polls without a socket. */
import type { WsClient } from "@halyard/wire/client";
import type { ClientSeam } from "../../client/seam.ts";
import type { FlagState, FlagsBootstrap } from "../../model/bootstrap.ts";
import type { JsonValue } from "../../model/declared.ts";
import { NO_POSITION } from "../../model/position.ts";
import {
  Deleted,
  type LivePosition,
  REASONS,
  Subscribe,
  Sync,
  type SyncMessage,
  Unsubscribe,
  Updated,
  type UpdatedMessage,
} from "../messages.ts";

/**
 * `connecting`: values may be out of date. `live`: the server pushes changes. `polling`: no socket, or no live flags on it;
 * values are at most about 30 s old while the page is visible. `closed`: the subscription has ended.
 */
export type LiveState = "connecting" | "live" | "polling" | "closed";

/** The events of a subscription, by name. */
export interface LiveEvents {
  /** A flag has another value or variant for this user. */
  readonly "flag:updated": { readonly key: string; readonly value: JsonValue; readonly variant?: string };
  /** A flag no longer exists for this user. */
  readonly "flag:deleted": { readonly key: string };
  /** The subscription has another state. */
  readonly state: LiveState;
}

export type Emit = <Type extends keyof LiveEvents>(type: Type, event: LiveEvents[Type]) => void;

export interface LiveLink {
  state(): LiveState;
  close(): void;
}

const PATH = "/feature-flags/bootstrap";
/** Time without a subscription after which the client polls. */
const WAIT_MS = 5_000;
const POLL_MS = 30_000;

type Table<Value> = Record<string, Value>;

/** What the client has: the last full set, and every change since. Its tables have no prototype: any key is possible. */
interface Mirror extends Omit<FlagsBootstrap, "exposures" | "position"> {
  position: string;
  readonly flags: Table<FlagState>;
  readonly exposures: Table<string | undefined>;
}

const text = JSON.stringify;
export const ignore = (): void => undefined;

/** A connection keeps the session that it was opened with. */
export function reopen(wire: WsClient): void {
  wire
    .close()
    .then(() => wire.connect())
    .catch(ignore);
}

export function createLink(wire: WsClient, { values, transport, bodyOf }: ClientSeam, emit: Emit): LiveLink {
  const page = globalThis.document as Document | undefined;
  let state: LiveState = "connecting";
  let mirror: Mirror | undefined;
  let tag: string | undefined;
  let at: LivePosition = [];
  /** The subscription whose messages count. Those of an earlier one are ignored until the next `flags:sync`. */
  let id = 0;
  let isSynced = false;
  /** The context that the server evaluates for. */
  let subscribed = "";
  let etag: string | null | undefined;
  let sequence = 1e9;
  let isLoaded = values.status() !== "loading";
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the connection was opened again, until it has the values of the page's user. */
  let isReopened = false;

  function become(next: LiveState): void {
    if (next === state) return;
    state = next;
    emit("state", next);
  }

  function pollIn(delayMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        // The last attempt was refused.
        if (state === "polling") subscribe();
        poll();
      },
      delayMs * (0.8 + Math.random() * 0.4),
    );
  }

  /** Gives the values to the store. Their time sorts after every other, so the store takes them as newer than any page's. */
  function hydrate(bootstrap: FlagsBootstrap): void {
    values.hydrate({ ...bootstrap, evaluatedAt: `~${++sequence}~${bootstrap.evaluatedAt}` });
    // Refused, because the page has newer revisions. The server says in a response whether a backup was restored.
    if (values.owner() !== bootstrap.context) values.invalidate();
  }

  /** What the server pushes does not count until the next `flags:sync`. */
  function unsync(): void {
    isSynced = false;
    if (state === "polling") return;
    become("connecting");
    pollIn(WAIT_MS);
  }

  function subscribe(): void {
    if (wire.state !== "open") return;
    const mine = ++id;
    const body = bodyOf(NO_POSITION);
    subscribed = text(body);
    unsync();
    wire.request(Subscribe, { ...body, id, ...(tag && { tag, at }) }).catch(({ retryable }) => {
      // The next poll tries again.
      if (!retryable && mine === id) poll();
    });
  }

  function sync({ id: begun, tag: next, full, ...changes }: SyncMessage): void {
    // A response that is under way may belong to another organization, or to a database before it was restored.
    const isOther = full && mirror;
    if (begun) {
      if (begun !== id) return;
      isSynced = true;
      tag = next;
      if (full) {
        mirror = {
          ...full,
          flags: { __proto__: null, ...full.flags },
          exposures: { __proto__: null, ...full.exposures },
        } as object as Mirror;
      }
    }
    apply(changes);
    if (isOther) values.invalidate();
  }

  /** With a position, the client has everything up to it. */
  function apply({
    at: next,
    updated = [],
    deleted = [],
  }: Pick<UpdatedMessage, "at"> & Pick<SyncMessage, "updated" | "deleted">): void {
    if (!isSynced || !mirror) return;
    const { flags, exposures } = mirror;
    for (const { key, value, variant, reason, token } of updated) {
      // Fields that are undefined count as absent.
      flags[key] = { value, variant, reason: REASONS[reason] } as FlagState;
      exposures[key] = token;
    }
    for (const key of deleted) delete flags[key];
    if (!next) return;
    at = next;
    // Behind the revisions, a position has the organization's id.
    mirror.position = at.slice(1).join(".") + mirror.position.replace(/^\d+(\.\d+)?/, "");
    show();
  }

  /** Whether the connection has another user than the page, whose last response decides. */
  function isForeign(): unknown {
    const owner = values.owner();
    return owner && owner.userId !== mirror?.context?.userId;
  }

  /** Gives what the server pushed to the store, unless it is for another user. */
  function show(): void {
    // The response that is under way says whose values the page shows.
    if (!isSynced || !mirror || !isLoaded) return;
    if (!isForeign()) {
      isReopened = false;
      become("live");
      hydrate(mirror as FlagsBootstrap);
    } else if (!isReopened) {
      isReopened = true;
      reopen(wire);
    } else if (state !== "polling") poll();
  }

  function poll(): void {
    // A connection that was opened again and still has another session is of no use.
    if (isSynced && !isForeign()) return;
    become("polling");
    pollIn(POLL_MS);
    if (page?.visibilityState === "hidden") return;
    const owner = values.owner();
    const options = {
      body: bodyOf(NO_POSITION),
      timeoutMs: WAIT_MS,
      ...(etag && { headers: { "if-none-match": etag } }),
      onResponse({ response }: { readonly response: Response }) {
        etag = response.headers.get("etag");
      },
    };
    void transport.request<FlagsBootstrap>(PATH, options).then(({ data }) => {
      if (!data) return;
      // Another user may have signed in since.
      if (state === "polling" && isLoaded && values.owner() === owner) hydrate(data);
      // Values that were not taken must come again.
      else etag = null;
    });
  }

  function seeVisible(): void {
    if (state === "polling") poll();
  }

  function see(changed: readonly string[]): void {
    const wasLoaded = isLoaded;
    isLoaded = values.status() !== "loading";
    if (!isLoaded) {
      // The values were dropped, because the user or the context changed.
      if (!mirror && text(bodyOf(NO_POSITION)) === subscribed) return;
      mirror = tag = undefined;
      return subscribe();
    }
    if (wasLoaded) {
      for (const key of changed) {
        const flag = values.read(key);
        if (flag)
          emit("flag:updated", {
            key,
            value: flag.value,
            variant: flag.variant,
          } as LiveEvents["flag:updated"]);
        else emit("flag:deleted", { key });
      }
    }
    if (state !== "live" || isForeign()) show();
  }

  const stops = [
    wire.on(Sync, sync),
    wire.on(Updated, (message) => apply({ ...message, updated: [message] })),
    wire.on(Deleted, (message) => apply({ ...message, deleted: [message.key] })),
    wire.onState(() => {
      unsync();
      subscribe();
    }),
    values.subscribe(see),
    () => page?.removeEventListener("visibilitychange", seeVisible),
  ];
  page?.addEventListener("visibilitychange", seeVisible);
  pollIn(WAIT_MS);
  subscribe();

  return {
    state: () => state,
    close() {
      if (wire.state === "open") wire.send(Unsubscribe);
      become("closed");
      id++;
      // Pages that are rendered later count again.
      values.settle();
      clearTimeout(timer);
      for (const stop of stops) stop();
    },
  };
}
