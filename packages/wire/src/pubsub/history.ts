/** The interface of a pub/sub that keeps the frames of a topic for a time, so that a reader can continue where it stopped. */

/**
 * Why a publish failed: the pub/sub lacks an option, too much is unconfirmed or the broker has no memory left, the broker
 * is not reachable, or the topic or message is invalid.
 */
export type PublishFailure = "UNSUPPORTED" | "BACKPRESSURE" | "DISCONNECTED" | "VALIDATION";

/**
 * A place in a topic's log. The offsets of an epoch are contiguous and begin with 1; 0 is the place before the first
 * frame. A new epoch begins when frames may have been lost, such as after a failover of the broker.
 */
export interface HistoryPosition {
  /** Identifies the epoch; equal only within one topic. */
  readonly epoch: string;
  /** The number of the frame in its epoch. */
  readonly offset: number;
}

/** The options of one append. */
export interface AppendOptions {
  /** How many frames of the topic are kept. */
  readonly size: number;
  /** How long a frame can be read, in ms. A frame stays as long as an earlier one, so that the log has no holes. */
  readonly ttlMs: number;
  /**
   * What `ttlMs` counts for. `frame`: each frame by itself; the epoch is kept for 30 days after the last append. `topic`:
   * the whole log, from its last append on; then nothing of the topic is left. Default `frame`.
   */
  readonly lifetime?: "frame" | "topic" | undefined;
  /**
   * An idempotency key of at most 256 characters. An append with the id of a kept frame appends nothing, and results in
   * the position of that frame. After the last frame of the topic, a store may know the id of that one alone: other
   * appends then fail with `ENDED`.
   */
  readonly id?: string | undefined;
  /** The connection that must not receive the frame: the publisher's own. */
  readonly excludeClientId?: string | undefined;
  /** Whether this is the last frame of the topic: later appends fail with `ENDED`. */
  readonly isLast?: boolean | undefined;
  /** Appends only in this epoch. In another one, the append fails with `EPOCH`, because earlier frames may be lost. */
  readonly epoch?: string | undefined;
}

/**
 * Why an append failed: as a publish, because the topic has a last frame, because its epoch is another one, or because the
 * store has no memory left.
 */
export type AppendFailure = PublishFailure | "ENDED" | "EPOCH" | "FULL";

/** The result of an append. `ok` means that the frame is in the log and was published to the subscribers. */
export type AppendResult =
  | {
      /** Whether the frame is in the log. */
      readonly ok: true;
      /** Where it is in the log. */
      readonly position: HistoryPosition;
      /** Whether an earlier append with the same id had appended it. */
      readonly isRepeated: boolean;
      /** To how many connections of this process the frame was sent; absent with a broker. */
      readonly matchedLocal?: number;
    }
  | {
      /** Whether the frame is in the log. */
      readonly ok: false;
      /** Why it is not, or may not be. */
      readonly error: AppendFailure;
      /** Whether a retry may succeed. Retry with an `id`: the frame may be in the log already. */
      readonly retryable: boolean;
      /** What is wrong with a message or option. */
      readonly details?: Readonly<Record<string, unknown>>;
    };

/** Which frames to read, and how much at once. */
export interface HistoryReadOptions {
  /** Reads the frames after this position. */
  readonly after?: HistoryPosition | undefined;
  /** Without `after`: reads the newest frames, at most this many. Default 0. */
  readonly last?: number | undefined;
  /** The largest number of frames in the result. */
  readonly maxItems: number;
  /** The largest total size of the frames in the result, in bytes of UTF-8. One larger frame is returned alone. */
  readonly maxBytes: number;
  /** Whether a topic without an epoch gets one, so that the result has a position. Default true. */
  readonly create?: boolean | undefined;
}

/** A kept frame. */
export interface HistoryItem {
  /** Its place in the epoch of the page. */
  readonly offset: number;
  /** The frame, unchanged. */
  readonly frame: string;
  /** The connection that must not receive it. */
  readonly excludeClientId: string | undefined;
}

/** The result of a read: contiguous frames, oldest first. */
export interface HistoryPage {
  /** The epoch of the topic; empty when there is none and `create` is false. */
  readonly epoch: string;
  /** The offset of the newest frame of the epoch, kept or not; 0 before the first. */
  readonly top: number;
  /** The frames. */
  readonly items: readonly HistoryItem[];
  /**
   * Whether frames after `after` can no longer be read: they are not kept any more, or the epoch is another one. The items
   * then begin with the oldest frame that is kept; if the epoch is another one, with the first that was appended since it
   * began, because the reader may have received the earlier ones. Always false without `after`.
   */
  readonly isMissing: boolean;
  /** Whether a further read after the last item can return more. */
  readonly hasMore: boolean;
  /** Whether the frame at `top` is the last one of the topic. */
  readonly hasEnded: boolean;
}

/** The logs of the topics of a pub/sub. */
export interface History {
  /**
   * Adds the frame to the topic's log and publishes it to the subscribers with its position, in one step: subscribers
   * receive the frames of a topic in the order of their offsets. Never rejects.
   */
  append(topic: string, frame: string, options: AppendOptions): AppendResult | Promise<AppendResult>;
  /** Reads from the topic's log. Rejects when the broker is not reachable. */
  read(topic: string, options: HistoryReadOptions): HistoryPage | Promise<HistoryPage>;
  /** The position of the topic's newest frame. Rejects when the broker is not reachable. */
  top(topic: string): HistoryPosition | Promise<HistoryPosition>;
  /** Deletes the topic's log, epoch and ids. Rejects when the broker is not reachable. */
  delete(topic: string): void | Promise<void>;
}
