/** The rate of joins of one connection. A refused join reserves its token, so that one retry at its time is enough. */
import type { ControlCall } from "../router/contracts.ts";
import { type Bucket, type BucketSize, bucketAt, waitFor } from "../time/bucket.ts";

/** A client's timer may fire up to this much early. */
const EARLY_MS = 50;
/** How long a reserved token is kept for a retry that does not come, in ms. */
const KEPT_MS = 2_000;
/** Joins of topics that the connection has, for each token. Two rooms of one client may have the same topic. */
const REPEATS = 4;

type Turn = { readonly topic: string; readonly at: number };

export class JoinRate {
  #bucket: Bucket | undefined;
  #repeats: Bucket | undefined;
  /** When the turns of refused joins come, one for each topic. At most as many as the bucket has tokens. */
  #turns: Turn[] = [];

  /** Whether the join comes too early; then the call has its error. */
  refuses(call: ControlCall, topic: string, isRepeat: boolean): boolean {
    const { server } = call.ws;
    const { joinsPerSecond: tokensPerSecond, maxTopicsPerConnection: capacity } = server.options;
    if (tokensPerSecond === Number.POSITIVE_INFINITY) return false;
    const retryAfterMs = this.#waitMs(topic, isRepeat, { capacity, tokensPerSecond }, server.clock.now());
    if (retryAfterMs === 0) return false;
    const exceeded = { observed: 1, limit: capacity, retryAfterMs };
    server.limitExceeded({ type: "rate", clientId: call.ws.clientId, ws: call.ws, ...exceeded });
    const message = "Too many joins of channels. Retry after retryAfterMs, or raise joinsPerSecond.";
    call.failWith({ code: "RESOURCE_EXHAUSTED", message, retryable: true, retryAfterMs, topic });
    return true;
  }

  /** Drops turns that no join will take, and returns their tokens. */
  release(isUnused: (turn: Turn) => boolean): void {
    const left = this.#turns.filter((turn) => !isUnused(turn));
    if (this.#bucket) this.#bucket.tokens += this.#turns.length - left.length;
    this.#turns = left;
  }

  /** How long the join has to wait; 0 when it has its token. */
  #waitMs(topic: string, isRepeat: boolean, size: BucketSize, now: number): number {
    const bucket = bucketAt(this.#bucket, size, now);
    this.#bucket = bucket;
    if (isRepeat) {
      const repeats = { capacity: size.capacity * REPEATS, tokensPerSecond: size.tokensPerSecond * REPEATS };
      this.#repeats = bucketAt(this.#repeats, repeats, now);
      if (this.#repeats.tokens >= 1) {
        this.#repeats.tokens--;
        return 0;
      }
    }
    this.release(({ at }) => at + KEPT_MS < now);
    const own = this.#turns.find((turn) => turn.topic === topic);
    if (own !== undefined) {
      if (own.at > now + EARLY_MS) return own.at - now;
      this.#turns.splice(this.#turns.indexOf(own), 1);
      return 0;
    }
    const waitMs = bucket.tokens < 1 ? waitFor(bucket, size, 1, now) : 0;
    if (waitMs > 0) {
      if (this.#turns.length >= size.capacity) return waitMs;
      this.#turns.push({ topic, at: now + waitMs });
    }
    bucket.tokens--;
    return waitMs;
  }
}
