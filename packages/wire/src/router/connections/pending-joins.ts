/**
 * The joins of one connection that have no answer yet. Messages that arrived after them wait, because their handlers may
 * require the membership: a client that reconnects sends its joins first, and then what it has queued.
 */
import { Timeout, type Timers } from "../../time/timers.ts";

/** A join. The callback runs when the client cancels it, its deadline passes, or the connection is lost. */
interface JoinCall {
  onCancel(callback: () => unknown): unknown;
}

/** A connection. */
interface JoinOwner {
  joins: PendingJoins | undefined;
  readonly server: { readonly timers: Timers };
}

/** A join that takes longer, such as one during an outage of the broker, delays no other message. */
const MAX_WAIT_MS = 1_000;

export class PendingJoins {
  readonly #calls = new Set<JoinCall>();
  readonly #timers: Timers;
  readonly #ended: () => void;
  readonly #limit = new Timeout(() => this.#stop());
  #isLimited = false;

  /** `ended` is called when no message has to wait any more. */
  constructor(timers: Timers, ended: () => void) {
    this.#timers = timers;
    this.#ended = ended;
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  add(call: JoinCall, answered: Promise<unknown>): void {
    this.#calls.add(call);
    const end = (): void => {
      if (this.#calls.delete(call) && this.isEmpty) this.#stop();
    };
    answered.then(end, end);
    call.onCancel(end);
  }

  /** A message waits for these joins. */
  limit(): void {
    if (this.#isLimited) return;
    this.#isLimited = true;
    this.#timers.add(this.#limit, MAX_WAIT_MS);
  }

  #stop(): void {
    this.#calls.clear();
    this.#isLimited = false;
    this.#timers.remove(this.#limit);
    this.#ended();
  }
}

/** Not in `dispatch.ts`: a closure in the function that runs every message would cost each of them an allocation. */
export function addJoin<Owner extends JoinOwner>(
  connection: Owner,
  call: JoinCall,
  answered: Promise<unknown>,
  drain: (connection: Owner) => void,
): void {
  connection.joins ??= new PendingJoins(connection.server.timers, () => drain(connection));
  connection.joins.add(call, answered);
}
