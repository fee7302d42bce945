/**
 * The durable calls that one process knows: those it runs, and those its connections read. Processes that run calls send
 * a heartbeat, so that the end of a process is the end of its calls.
 */
import { WsError } from "../protocol/error.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import type { HistoryPosition } from "../pubsub/history.ts";
import type { PubSub, Subscriber } from "../pubsub/pubsub.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { isEnd } from "./call-log.ts";
import type { CallRun } from "./call-run.ts";
import { FollowedProcesses, type Following, HEARTBEATS } from "./followed-processes.ts";

const HEARTBEAT_MS = 1_000;
/** Published on the topic of a call: its owner cancels it. */
const CANCEL = "c";

/** Called when the log of a call may have grown, or its process is dead. */
export type Wake = () => void;

interface Watched {
  readonly subscriber: Subscriber;
  readonly wakes: Set<Wake>;
  readonly confirmed: Promise<void>;
}

export class CallRegistry {
  /** Identifies this process in the headers of its calls. */
  readonly process: string = uuidv7();
  readonly pubsub: PubSub;
  readonly #clock: Clock;
  readonly #runs = new Map<string, CallRun>();
  /** How many calls of each owner run, or are being started. */
  readonly #running = new Map<string, number>();
  readonly #watched = new Map<string, Watched>();
  /** Processes whose calls are read here. */
  readonly #processes: FollowedProcesses;
  #isSending = false;

  constructor(pubsub: PubSub, clock: Clock = systemClock) {
    this.pubsub = pubsub;
    this.#clock = clock;
    this.#processes = new FollowedProcesses(pubsub, clock);
  }

  // --- runs ---

  run(id: string): CallRun | undefined {
    return this.#runs.get(id);
  }

  /** Counts a call of the owner until the returned function is called. Throws when the owner has too many. */
  reserve(owner: string, limit: number): () => void {
    const count = this.#running.get(owner) ?? 0;
    if (count >= limit)
      throw new WsError(
        "RESOURCE_EXHAUSTED",
        `${limit} calls of this owner are running, which is the limit (maxRunningPerOwner). Wait for one of them.`,
      );
    this.#running.set(owner, count + 1);
    return () => {
      const left = (this.#running.get(owner) ?? 1) - 1;
      if (left > 0) this.#running.set(owner, left);
      else this.#running.delete(owner);
    };
  }

  add(run: CallRun): void {
    this.#runs.set(run.callId, run);
    this.#sendHeartbeats();
  }

  remove(run: CallRun): void {
    this.#runs.delete(run.callId);
  }

  /** Ends the calls that belong to connections of a server that stops. */
  async abandon(belongs: (run: CallRun) => boolean): Promise<void> {
    await Promise.all([...this.#runs.values()].filter(belongs).map((run) => run.abandon()));
  }

  /** Cancels the call, in whichever process it runs. */
  async cancel(id: string, topic: string): Promise<void> {
    const run = this.#runs.get(id);
    if (run !== undefined) return run.cancel();
    await this.pubsub.publish(topic, CANCEL, {});
  }

  // --- watching a topic ---

  /** Calls back when the log may have grown; resolves once the subscription is confirmed. Returns a function that ends it. */
  async watch(topic: string, id: string, wake: Wake): Promise<() => void> {
    const watched = this.#watched.get(topic) ?? this.#subscribe(topic, id);
    watched.wakes.add(wake);
    const stop = (): void => {
      watched.wakes.delete(wake);
      if (watched.wakes.size > 0 || this.#watched.get(topic) !== watched) return;
      this.#watched.delete(topic);
      this.#ignore(() => this.pubsub.unsubscribe(topic, watched.subscriber));
    };
    try {
      await watched.confirmed;
    } catch (error) {
      stop();
      throw error;
    }
    return stop;
  }

  #subscribe(topic: string, id: string): Watched {
    const wakes = new Set<Wake>();
    const wakeAll = (): void => {
      for (const wake of [...wakes]) wake();
    };
    const subscriber: Subscriber = {
      deliver: (_topic, frame, _exclude, position) => {
        this.#received(id, frame, position);
        wakeAll();
        return wakes.size;
      },
      missed: wakeAll,
    };
    const confirmed = (async () => this.pubsub.subscribe(topic, subscriber))();
    const watched = { subscriber, wakes, confirmed };
    this.#watched.set(topic, watched);
    return watched;
  }

  #received(id: string, frame: string, position: HistoryPosition | undefined): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    if (position === undefined) {
      if (frame === CANCEL) run.cancel();
    } else if (isEnd(frame)) run.wasEnded();
  }

  // --- heartbeats ---

  #sendHeartbeats(): void {
    if (this.#isSending || !this.pubsub.spansProcesses) return;
    this.#isSending = true;
    const beat = (): void => {
      if (this.#runs.size === 0) {
        this.#isSending = false;
        return;
      }
      this.#ignore(() => this.pubsub.publish(HEARTBEATS, this.process, {}));
      this.#clock.setTimeout(beat, HEARTBEAT_MS);
    };
    beat();
  }

  /** Follows the process that runs the call, and wakes the reader when it is dead. */
  follow(process: string, id: string, wake: Wake): Following {
    if (process !== this.process && this.pubsub.spansProcesses) return this.#processes.follow(process, wake);
    const runs = this.#runs;
    return {
      get isDead() {
        return !runs.has(id);
      },
      stop: () => undefined,
    };
  }

  #ignore(act: () => unknown): void {
    void (async () => act())().catch(() => undefined);
  }
}

/** One registry per pub/sub: servers that share it share their calls. */
const registries = new WeakMap<PubSub, CallRegistry>();

export function registryOf(pubsub: PubSub): CallRegistry {
  const known = registries.get(pubsub);
  if (known !== undefined) return known;
  const registry = new CallRegistry(pubsub);
  registries.set(pubsub, registry);
  return registry;
}

/** The registry of the pub/sub, if a durable call was started or read there. */
export function knownRegistryOf(pubsub: PubSub): CallRegistry | undefined {
  return registries.get(pubsub);
}
