/** The rate of joins of one connection. A refused join reserves its token, so that one retry at its time is enough. */
import type { ControlCall } from "../router/contracts.ts";
import { type Bucket, type BucketSize, tokensAt, waitFor } from "../time/bucket.ts";

/** A client's timer may run early, by what its event loop was busy. */
const EARLY_MS = 50;
/** How long a reserved token is kept for a retry that does not come, in ms. */
const KEPT_MS = 10_000;

export class JoinRate {
  #bucket: Bucket | undefined;
  /** When the turns of refused joins come, the earliest first. At most as many as the bucket has tokens. */
  readonly #turns: { readonly topic: string; readonly at: number }[] = [];

  /** Whether the join comes too early; then the call has its error. */
  refuses(call: ControlCall, topic: string): boolean {
    const { server } = call.ws;
    const { joinsPerSecond: tokensPerSecond, maxTopicsPerConnection: capacity } = server.options;
    if (tokensPerSecond === Number.POSITIVE_INFINITY) return false;
    const retryAfterMs = this.#waitMs(topic, { capacity, tokensPerSecond }, server.clock.now());
    if (retryAfterMs === 0) return false;
    const exceeded = { observed: 1, limit: capacity, retryAfterMs };
    server.limitExceeded({ type: "rate", clientId: call.ws.clientId, ws: call.ws, ...exceeded });
    const message = "Too many joins of channels. Retry after retryAfterMs, or raise joinsPerSecond.";
    call.failWith({ code: "RESOURCE_EXHAUSTED", message, retryable: true, retryAfterMs });
    return true;
  }

  /** How long the join has to wait; 0 when it has its token. */
  #waitMs(topic: string, size: BucketSize, now: number): number {
    const own = this.#turns.findIndex((turn) => turn.topic === topic && turn.at <= now + EARLY_MS);
    if (own !== -1) {
      this.#turns.splice(own, 1);
      return 0;
    }
    while ((this.#turns[0]?.at ?? now) + KEPT_MS < now) this.#turns.shift();
    this.#bucket ??= { tokens: size.capacity, filledAt: now };
    const bucket = this.#bucket;
    bucket.tokens = tokensAt(bucket, size, now);
    bucket.filledAt = now;
    const waitMs = bucket.tokens < 1 ? waitFor(bucket, size, 1, now) : 0;
    if (waitMs > 0) {
      if (this.#turns.length >= size.capacity) return waitMs;
      this.#turns.push({ topic, at: now + waitMs });
    }
    bucket.tokens--;
    return waitMs;
  }
}
