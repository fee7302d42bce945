/** The live values of one client: subscribes on the socket, applies what the server pushes, and polls without a socket. */
import type { WsClient } from "@halyard/wire/client";
import type { LiveSeam } from "../../client/seam.ts";
import type { FlagState, FlagsBootstrap } from "../../model/bootstrap.ts";
import type { JsonValue } from "../../model/declared.ts";
import { NO_POSITION } from "../../model/position.ts";
import {
  Changed,
  Deleted,
  type LivePosition,
  Position,
  REASONS,
  Subscribe,
  type SubscribeInput,
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
  /** Whether the values are those of an anonymous visitor. */
  isAnonymous(): boolean;
  close(): void;
}

const PATH = "/feature-flags/bootstrap";
/** Time without a subscription after which the client polls. */
const POLL_AFTER_MS = 5_000;
const POLL_MS = 30_000;
const TIMEOUT_MS = 10_000;
const RETRY_MS = 1_000;

/** What the client has: the last full set, and every change since. */
interface Mirror {
  readonly context: FlagsBootstrap["context"];
  readonly tokens: Map<string, string>;
  readonly flags: Map<string, FlagState>;
  /** The organization's id with a dot before it, for positions. */
  readonly suffix: string;
}

export function createLink(wire: WsClient, { actions, transport, bodyOf }: LiveSeam, emit: Emit): LiveLink {
  const values = actions.values();
  const hasPage = typeof document !== "undefined";
  let state: LiveState = "connecting";
  let mirror: Mirror | undefined;
  let tag: string | undefined;
  let at: LivePosition = [];
  /** The subscription whose messages count. Those of an earlier one are ignored until the next `flags:sync`. */
  let id = 0;
  let isSynced = false;
  let isApplying = false;
  /** The context that the server evaluates for. */
  let subscribed = "";
  let etag: string | undefined;
  let sequence = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Keys that changed since the values were last applied. */
  const changed = new Set<string>();

  function become(next: LiveState): void {
    if (next === state || state === "closed") return;
    state = next;
    emit("state", next);
  }

  function later(work: () => void, delayMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(work, delayMs * (0.8 + Math.random() * 0.4));
    if (typeof timer === "object") (timer as { unref?(): void }).unref?.();
  }

  /** Gives the values to the store. The text sorts after every time, so the store takes them as newer than any page's. */
  function hydrate(bootstrap: FlagsBootstrap): void {
    isApplying = true;
    values.hydrate({ ...bootstrap, evaluatedAt: `~${String(++sequence).padStart(12, "0")}` });
    isApplying = false;
  }

  function apply(): void {
    if (mirror === undefined) return;
    const { flags, tokens, context, suffix } = mirror;
    hydrate({
      flags: Object.fromEntries(flags),
      exposures: Object.fromEntries(tokens),
      position: at.join(".") + suffix,
      evaluatedAt: "",
      ...(context && { context }),
    });
    for (const key of changed) {
      const held = flags.get(key);
      if (held === undefined) emit("flag:deleted", { key });
      else emit("flag:updated", { key, value: held.value, ...(held.variant && { variant: held.variant }) });
    }
    changed.clear();
  }

  function inputOf(): Omit<SubscribeInput, "id"> {
    const { context, environment, exposures } = bodyOf(NO_POSITION) as SubscribeInput;
    return {
      ...(context && { context }),
      ...(environment && { environment }),
      ...(exposures && { exposures }),
    };
  }

  function subscribe(): void {
    if (wire.state !== "open" || state === "closed") return;
    const mine = ++id;
    const input = inputOf();
    const text = JSON.stringify(input);
    if (text !== subscribed) tag = undefined;
    subscribed = text;
    isSynced = false;
    wire.request(Subscribe, { id, ...input, ...(tag && { tag, at }) }).catch((error: unknown) => {
      if (mine !== id || wire.state !== "open") return;
      const { retryable, details } = error as { retryable?: boolean; details?: { retryAfterMs?: number } };
      if (retryable) setTimeout(() => mine === id && subscribe(), details?.retryAfterMs ?? RETRY_MS);
      else void poll();
    });
  }

  function sync({ id: theirs, full, ...held }: SyncMessage): void {
    if (theirs !== id) return;
    isSynced = true;
    clearTimeout(timer);
    if (full !== undefined) {
      const { context, position = "" } = full;
      const isOther =
        mirror !== undefined &&
        (JSON.stringify(mirror.context) !== JSON.stringify(context) ||
          held.at.some((one, i) => one < (at[i] ?? 0)));
      const before = values.all();
      const flags = new Map(Object.entries(full.flags));
      if (values.status() !== "loading") {
        for (const key of new Set([...Object.keys(before), ...flags.keys()])) {
          const given = flags.get(key);
          if (given === undefined || JSON.stringify(given.value) !== JSON.stringify(before[key]))
            changed.add(key);
        }
      }
      const suffix = position
        .split(".")
        .slice(2)
        .map((part) => `.${part}`)
        .join("");
      mirror = { context, flags, tokens: new Map(Object.entries(full.exposures ?? {})), suffix };
      ({ tag, at } = held);
      apply();
      // A response that is under way may belong to another organization, or to a database before it was restored.
      if (isOther) values.invalidate();
    }
    ({ tag, at } = held);
    become("live");
  }

  function update({ key, value, variant, reason, token }: UpdatedMessage): void {
    if (!isSynced || mirror === undefined) return;
    const why = REASONS[reason];
    const before = mirror.flags.get(key);
    const next = { value, ...(variant !== undefined && { variant }), ...(why && { reason: why }) };
    mirror.flags.set(key, next);
    mirror.tokens.delete(key);
    if (token !== undefined) mirror.tokens.set(key, token);
    if (before?.variant !== variant || JSON.stringify(before?.value) !== JSON.stringify(value))
      changed.add(key);
  }

  function remove(key: string): void {
    if (isSynced && mirror?.flags.delete(key)) changed.add(key);
  }

  function move(next: LivePosition | undefined): void {
    if (!isSynced || next === undefined) return;
    at = next;
    apply();
  }

  async function poll(): Promise<void> {
    if (state === "closed" || isSynced) return;
    become("polling");
    later(() => void poll(), POLL_MS);
    if (hasPage && document.visibilityState === "hidden") return;
    const { data, error } = await transport.request<FlagsBootstrap>(PATH, {
      body: bodyOf(NO_POSITION),
      timeoutMs: TIMEOUT_MS,
      ...(etag !== undefined && { headers: { "if-none-match": etag } }),
      onResponse: ({ response }) => {
        etag = response.headers.get("etag") ?? undefined;
      },
    });
    if (error !== null || isSynced || values.status() === "loading") return;
    hydrate(data);
  }

  function lose(): void {
    isSynced = false;
    if (state !== "live") return;
    become("connecting");
    later(() => void poll(), POLL_AFTER_MS);
  }

  function seeVisible(): void {
    if (state === "polling" && document.visibilityState === "visible") void poll();
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
    wire.on(Changed, (message) => {
      message.updated.forEach(update);
      message.deleted.forEach(remove);
      move(message.at);
    }),
    wire.on(Position, (message) => move(message.at)),
    wire.onState((next) => (next === "open" ? subscribe() : lose())),
    values.subscribe(() => {
      // The values were dropped, because the user or the context changed.
      if (isApplying || values.status() !== "loading") return;
      if (mirror === undefined && JSON.stringify(inputOf()) === subscribed) return;
      mirror = tag = etag = undefined;
      subscribe();
    }),
  ];
  if (hasPage) document.addEventListener("visibilitychange", seeVisible);
  later(() => void poll(), POLL_AFTER_MS);
  subscribe();

  return {
    state: () => state,
    isAnonymous: () => mirror !== undefined && mirror.context?.userId === undefined,
    close() {
      if (wire.state === "open") wire.send(Unsubscribe);
      become("closed");
      id += 1;
      isSynced = false;
      clearTimeout(timer);
      for (const stop of stops) stop();
      if (hasPage) document.removeEventListener("visibilitychange", seeVisible);
    },
  };
}
