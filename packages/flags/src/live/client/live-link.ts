/** The live values of one client: subscribes on the socket, applies what the server pushes, and polls without a socket. */
import type { WsClient } from "@halyard/wire/client";
import type { LiveSeam } from "../../client/seam.ts";
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
/** Time without a subscription after which the client polls, and pause before a subscription is tried again. */
const WAIT_MS = 5_000;
const POLL_MS = 30_000;

type Table<Value> = Record<string, Value>;

/** What the client has: the last full set, and every change since. Its tables have no prototype: any key is possible. */
interface Mirror extends FlagsBootstrap {
  readonly flags: Table<FlagState>;
  readonly exposures: Table<string>;
}

const text = JSON.stringify;

function tableOf<Value>(entries: object = {}): Table<Value> {
  return Object.assign(Object.create(null), entries);
}

export function createLink(wire: WsClient, { actions, transport, bodyOf }: LiveSeam, emit: Emit): LiveLink {
  const values = actions.values();
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
  let etag: string | undefined;
  let sequence = 1e9;
  let isLoaded = values.status() !== "loading";
  let timer: ReturnType<typeof setTimeout> | undefined;

  function become(next: LiveState): void {
    if (next === state || state === "closed") return;
    state = next;
    emit("state", next);
  }

  function pollIn(delayMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(poll, delayMs * (0.8 + Math.random() * 0.4));
  }

  /** Gives the values to the store. The text sorts after every time, so the store takes them as newer than any page's. */
  function hydrate(bootstrap: FlagsBootstrap): void {
    values.hydrate({ ...bootstrap, evaluatedAt: `~${++sequence}` });
  }

  function subscribe(): void {
    if (wire.state !== "open" || state === "closed") return;
    const mine = ++id;
    const body = bodyOf(NO_POSITION);
    if (text(body) !== subscribed) tag = undefined;
    subscribed = text(body);
    isSynced = false;
    wire.request(Subscribe, { ...body, id, ...(tag && { tag, at }) }).catch(({ retryable }) => {
      if (mine !== id || wire.state !== "open") return;
      if (retryable) setTimeout(() => mine === id && subscribe(), WAIT_MS);
      else poll();
    });
  }

  function sync({ id: begun, tag: next, at: position, full, updated = [], deleted = [] }: SyncMessage): void {
    let isOther = false;
    if (begun !== undefined) {
      if (begun !== id) return;
      isSynced = true;
      clearTimeout(timer);
      tag = next;
      if (full) {
        isOther =
          mirror !== undefined &&
          (text(mirror.context) !== text(full.context) ||
            position.some((one, index) => one < (at[index] ?? 0)));
        mirror = { ...full, flags: tableOf(full.flags), exposures: tableOf(full.exposures) };
      }
      become("live");
    }
    updated.forEach(update);
    deleted.forEach(remove);
    move(position);
    // A response that is under way may belong to another organization, or to a database before it was restored.
    if (isOther) values.invalidate();
  }

  function update({ key, value, variant, reason, token }: UpdatedMessage): void {
    if (!isSynced || !mirror) return;
    const why = REASONS[reason];
    mirror.flags[key] = { value, ...(variant !== undefined && { variant }), ...(why && { reason: why }) };
    delete mirror.exposures[key];
    if (token) mirror.exposures[key] = token;
  }

  function remove(key: string): void {
    if (isSynced) delete mirror?.flags[key];
  }

  /** The client has everything up to this position. */
  function move(next: LivePosition | undefined): void {
    if (!isSynced || !mirror || !next) return;
    at = next;
    // Behind the revisions, a position has the organization's id.
    const organization = mirror.position?.replace(/^\d+(\.\d+)?/, "") ?? "";
    mirror = { ...mirror, position: at.join(".") + organization };
    hydrate(mirror);
  }

  function poll(): void {
    if (state === "closed" || isSynced) return;
    become("polling");
    pollIn(POLL_MS);
    if (page?.visibilityState === "hidden") return;
    const options = {
      body: bodyOf(NO_POSITION),
      timeoutMs: WAIT_MS,
      ...(etag && { headers: { "if-none-match": etag } }),
      onResponse({ response }: { readonly response: Response }) {
        etag = response.headers.get("etag") ?? undefined;
      },
    };
    void transport.request<FlagsBootstrap>(PATH, options).then(({ data }) => {
      if (!data) return;
      if (!isSynced && isLoaded) hydrate(data);
      // Values that were not taken must come again.
      else etag = undefined;
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
      subscribe();
    } else if (wasLoaded) {
      for (const key of changed) {
        const { value, variant } = values.read(key) ?? {};
        if (value === undefined) emit("flag:deleted", { key });
        else emit("flag:updated", { key, value, ...(variant && { variant }) });
      }
    }
  }

  const stops = [
    wire.on(Sync, sync),
    wire.on(Updated, (message) => {
      update(message);
      move(message.at);
    }),
    wire.on(Deleted, (message) => {
      remove(message.key);
      move(message.at);
    }),
    wire.onState((next) => {
      if (next === "open") return subscribe();
      isSynced = false;
      if (state !== "live") return;
      become("connecting");
      pollIn(WAIT_MS);
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
      isSynced = false;
      clearTimeout(timer);
      for (const stop of stops) stop();
    },
  };
}
