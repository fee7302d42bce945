/**
 * Disconnects across processes: tells them to the other processes of the router. A process that was cut off asks for the
 * disconnects it may have missed; every process keeps them, so the one that told them first may be gone.
 */
import { type Clock, pause, RETRY_MS, uuidv7 } from "@halyard/base";
import { type PeerReader, type Peers, peersOf } from "../../peers/peers.ts";
import { isObject } from "../../protocol/checks.ts";
import { WsError } from "../../protocol/error.ts";
import type { PublishResult, PubSub } from "../../pubsub/pubsub.ts";
import { isCloseCode } from "./close-code.ts";
import { type DisconnectMatch, type DisconnectOptions, isPlainMatch } from "./disconnect.ts";

const DISCONNECT = "$ws:disconnect";
const PREFIX = `{"type":"${DISCONNECT}"`;
/** After this, `disconnect()` rejects, so that the caller knows that connections may still be open. */
const PUBLISH_TIMEOUT_MS = 5_000;
/** All processes reconnect to a restored broker within this time: NATS clients retry every 2 s. */
const RECONNECT_MS = 2_500;
const KEEP_MS = 5 * 60_000;
const MAX_KEPT = 10_000;
/** A process waits a random time up to this before it replies, and does not reply if another process has. */
const MAX_REPLY_DELAY_MS = 200;

interface Disconnect {
  readonly id: string;
  readonly match: DisconnectMatch;
  readonly code: number;
  readonly reason: string;
  /** The topic of a channel: ends memberships in it instead of connections. */
  readonly leave?: string | undefined;
}

/** What happens to the matching connections: they are closed, or leave the channel with this topic. */
export interface RemoteOptions extends DisconnectOptions {
  readonly leave?: string | undefined;
}

interface KeptDisconnect {
  readonly disconnect: Disconnect;
  /** Monotonic time of the first publish, in ms. */
  readonly at: number;
  /** Monotonic time of the last publish by any process, in ms. */
  publishedAt: number;
}

/** Closes the matching connections of this process, or ends memberships, except those opened in the last `ageMs`. */
export type CloseMatching = (match: DisconnectMatch, options: RemoteOptions, ageMs: number) => void;

export class RemoteDisconnects implements PeerReader {
  readonly #id = uuidv7();
  readonly #peers: Peers;
  readonly #pubsub: PubSub;
  readonly #close: CloseMatching;
  readonly #clock: Clock;
  /** Disconnects of all processes, by id, oldest first. Those in this map are done in this process. */
  readonly #kept = new Map<string, KeptDisconnect>();
  /** Monotonic time at which the broker was last unavailable, in ms. */
  #unavailableAt = Number.NEGATIVE_INFINITY;
  /** Monotonic time of the last question of another process, in ms. */
  #askedAt = 0;
  #isReplying = false;

  constructor(pubsub: PubSub, close: CloseMatching, peers: Peers = peersOf(pubsub)) {
    this.#peers = peers;
    this.#pubsub = pubsub;
    this.#close = close;
    this.#clock = peers.clock;
  }

  start(): void {
    this.#peers.join(this, false);
  }

  stop(): void {
    this.#peers.leave(this);
  }

  /** Resolves once the pub/sub has accepted the disconnect; rejects when it does not. */
  async publish(match: DisconnectMatch, code: number, reason: string, leave?: string): Promise<void> {
    const kept = this.#keep({ id: uuidv7(), match, code, reason, leave }, 0);
    let result = await this.#publishDisconnect(kept);
    if (result.ok && this.#mayBeMissed) {
      // Other processes may still be reconnecting to the broker, so the disconnect is published again after that time.
      await pause(this.#clock, RECONNECT_MS);
      result = await this.#publishDisconnect(kept);
    }
    if (result.ok) return;
    throw new WsError(
      "UNAVAILABLE",
      leave === undefined
        ? "The connections of this process are closed, but the pub/sub did not accept the disconnect for the other processes. Call disconnect() again."
        : "The memberships in this process have ended, but the pub/sub did not accept this for the other processes. Call leave() again.",
      { ...result.details, error: result.error },
    );
  }

  // --- as a reader of peers ---

  received(frame: string): void {
    const message = parse(frame);
    if (message === undefined || message["from"] === this.#id) return;
    if (isDisconnect(message)) this.#apply(message, ageOf(message));
  }

  /** Others may have asked too, and not been heard. */
  missed(): void {
    this.#unavailableAt = this.#clock.now();
    this.asked();
  }

  asked(): void {
    void this.#reply();
  }

  #apply({ id, match, code, reason, leave }: Disconnect, ageMs: number): void {
    const kept = this.#kept.get(id);
    if (kept !== undefined) {
      kept.publishedAt = this.#clock.now();
      return;
    }
    this.#keep({ id, match, code, reason, leave }, ageMs);
    this.#close(match, { code, reason, leave }, ageMs);
  }

  /** One reply covers all questions in the meantime, and skips what another process has already published. */
  async #reply(): Promise<void> {
    this.#askedAt = this.#clock.now();
    if (this.#isReplying) return;
    this.#isReplying = true;
    await pause(this.#clock, Math.random() * MAX_REPLY_DELAY_MS);
    for (let askedAt = -1; askedAt < this.#askedAt; ) {
      askedAt = this.#askedAt;
      for (const kept of [...this.#kept.values()]) {
        if (kept.publishedAt >= askedAt || this.#clock.now() - kept.at >= KEEP_MS) continue;
        await this.#publishDisconnect(kept);
      }
    }
    this.#isReplying = false;
  }

  // --- over the pub/sub ---

  #publishDisconnect(kept: KeptDisconnect): Promise<PublishResult> {
    kept.publishedAt = this.#clock.now();
    return this.#publishMessage(() => {
      // Rounded down, so that connections opened in the same millisecond are closed too.
      const ageMs = Math.max(0, Math.floor(this.#clock.now() - kept.at) - 1);
      return { type: DISCONNECT, ...kept.disconnect, ageMs };
    });
  }

  /** Retries until the pub/sub accepts the message, for up to `PUBLISH_TIMEOUT_MS`. */
  async #publishMessage(createMessage: () => object): Promise<PublishResult> {
    const stopAt = this.#clock.now() + PUBLISH_TIMEOUT_MS;
    for (;;) {
      const result = await this.#peers.tell(JSON.stringify({ ...createMessage(), from: this.#id }));
      if (result.ok || !result.retryable) return result;
      this.#unavailableAt = this.#clock.now();
      if (this.#unavailableAt >= stopAt) return result;
      await pause(this.#clock, RETRY_MS);
    }
  }

  /** Whether other processes may not have reconnected to the broker yet. */
  get #mayBeMissed(): boolean {
    return this.#pubsub.status?.connected === false || this.#clock.now() - this.#unavailableAt < RECONNECT_MS;
  }

  #keep(disconnect: Disconnect, ageMs: number): KeptDisconnect {
    const now = this.#clock.now();
    if (this.#kept.size >= MAX_KEPT)
      for (const oldest of this.#kept.keys()) if (this.#kept.delete(oldest)) break;
    const kept = { disconnect, at: now - ageMs, publishedAt: now };
    this.#kept.set(disconnect.id, kept);
    return kept;
  }
}

function parse(frame: string): Record<string, unknown> | undefined {
  if (!frame.startsWith(PREFIX)) return undefined;
  try {
    const message: unknown = JSON.parse(frame);
    return isObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** How long ago the disconnect was first published, in ms. */
function ageOf({ ageMs }: Record<string, unknown>): number {
  return typeof ageMs === "number" && ageMs > 0 ? ageMs : 0;
}

/** Checks every field, because any process with access to the broker can publish. */
function isDisconnect(message: Record<string, unknown>): message is Record<string, unknown> & Disconnect {
  const { type, id, match, code, reason, leave } = message;
  return (
    type === DISCONNECT &&
    typeof id === "string" &&
    typeof code === "number" &&
    isCloseCode(code) &&
    typeof reason === "string" &&
    (leave === undefined || typeof leave === "string") &&
    isMatch(match)
  );
}

function isMatch(match: unknown): match is DisconnectMatch {
  if (!isObject(match) || !isPlainMatch(match)) return false;
  const { clientId, topic, data } = match;
  return clientId !== undefined || topic !== undefined || (isObject(data) && Object.keys(data).length > 0);
}
