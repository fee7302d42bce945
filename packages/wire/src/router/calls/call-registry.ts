/**
 * The durable calls that one process knows: those it runs, and those its connections read. Processes that run calls send
 * a heartbeat, so that the end of a process is the end of its calls.
 */
import { type Clock, systemClock, uuidv7 } from "@halyard/base";
import { WsError } from "../../protocol/error.ts";
import type { PubSub, Subscriber } from "../../pubsub/pubsub.ts";
import { type CallLog, errorFrame, existing, isEnd, outOfMemory } from "./call-log.ts";
import { type CallRun, cancelled } from "./call-run.ts";
import { FollowedProcesses, type Follower, HEARTBEATS } from "./followed-processes.ts";

const HEARTBEAT_MS = 1_000;
/** Published on the topic of a call: a process that reads it asks whether it still runs, and the one that runs it answers. */
const ASK = "?";
const RUNNING = "!";
/** The same: the broker has no memory left for the end of the call. */
const FULL = "~";

/** Called when the log of a call may have grown, or its process is dead; with the reason when no end can be read for now. */
export type Wake = (failure?: WsError) => void;

interface Watched {
  readonly subscriber: Subscriber;
  readonly wakes: Set<Wake>;
  readonly followings: Set<Follower>;
  readonly confirmed: Promise<void>;
}

export class CallRegistry {
  /** Identifies this process in the headers of its calls. */
  readonly process: string = uuidv7();
  readonly pubsub: PubSub;
  readonly #clock: Clock;
  readonly #runs = new Map<string, CallRun>();
  /** The ids of calls that are being started. */
  readonly #starting = new Set<string>();
  /** Starts whose header is being written, by the id of the call. */
  readonly #starts = new Map<string, Promise<unknown>>();
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

  /** Reserves the id and a place of the owner until the returned function is called. Throws when the owner has too many. */
  reserve(id: string, owner: string, limit: number): () => void {
    const count = this.#running.get(owner) ?? 0;
    if (this.#isRunning(id)) throw existing();
    if (count >= limit)
      throw new WsError(
        "RESOURCE_EXHAUSTED",
        `${limit} calls of this owner are running, which is the limit (maxRunningPerOwner). Wait for one of them.`,
      );
    this.#running.set(owner, count + 1);
    this.#starting.add(id);
    return () => {
      this.#starting.delete(id);
      const left = (this.#running.get(owner) ?? 1) - 1;
      if (left > 0) this.#running.set(owner, left);
      else this.#running.delete(owner);
    };
  }

  followStart(id: string, start: Promise<unknown>): void {
    // A second start of the id fails, and ends nothing for those who wait for the first.
    if (this.#starts.has(id)) return;
    const end = (): void => void this.#starts.delete(id);
    this.#starts.set(id, start.then(end, end));
  }

  /** Resolves when the call is not being started in this process, whether its start failed or not. */
  async started(id: string): Promise<void> {
    await this.#starts.get(id);
  }

  add(run: CallRun): void {
    this.#runs.set(run.callId, run);
    this.#sendHeartbeats();
  }

  remove(run: CallRun, topic: string): void {
    this.#runs.delete(run.callId);
    // An end that could not be written wakes no reader.
    for (const wake of [...(this.#watched.get(topic)?.wakes ?? [])]) wake();
  }

  #isRunning(id: string): boolean {
    return this.#runs.has(id) || this.#starting.has(id);
  }

  /** Tells the readers in all processes that the end cannot be kept for now: a frame that is only published needs no memory. */
  sendFull(topic: string): void {
    this.#ignore(() => this.pubsub.publish(topic, FULL, {}));
  }

  /** Ends the calls that belong to connections of a server that stops. */
  async abandon(belongs: (run: CallRun) => boolean): Promise<void> {
    await Promise.all([...this.#runs.values()].filter(belongs).map((run) => run.abandon()));
  }

  /** Cancels the call, in whichever process it runs: the process that runs it stops when it receives the end. */
  async cancel(id: string, log: CallLog): Promise<void> {
    const run = this.#runs.get(id);
    if (run !== undefined) return run.cancel();
    await log.end(errorFrame(cancelled().toPayload()));
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
    const followings = new Set<Follower>();
    const wakeAll = (): void => {
      for (const wake of [...wakes]) wake();
    };
    const subscriber: Subscriber = {
      deliver: (_topic, frame, _exclude, position) => {
        const isItem = position !== undefined;
        if (isItem || frame === RUNNING) for (const following of followings) following.confirm();
        this.#received(topic, id, frame, isItem);
        if (isItem) wakeAll();
        return wakes.size;
      },
      missed: () => {
        for (const following of followings) following.doubt();
        void this.#runs.get(id)?.check();
        wakeAll();
      },
    };
    const confirmed = (async () => this.pubsub.subscribe(topic, subscriber))();
    const watched = { subscriber, wakes, followings, confirmed };
    this.#watched.set(topic, watched);
    return watched;
  }

  #received(topic: string, id: string, frame: string, isItem: boolean): void {
    if (!isItem) {
      if (frame === FULL)
        for (const wake of [...(this.#watched.get(topic)?.wakes ?? [])]) wake(outOfMemory());
      if (frame === ASK && this.#isRunning(id)) this.#ignore(() => this.pubsub.publish(topic, RUNNING, {}));
    } else if (isEnd(frame)) this.#runs.get(id)?.wasEnded(frame);
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

  /** Follows the process that runs a watched call, and wakes the reader when it does not run it any more. */
  follow(process: string, id: string, topic: string, wake: Wake): Pick<Follower, "isDead" | "stop"> {
    if (process === this.process || !this.pubsub.spansProcesses) {
      const isRunning = (): boolean => this.#isRunning(id);
      return {
        get isDead() {
          return !isRunning();
        },
        stop: () => undefined,
      };
    }
    const followings = this.#watched.get(topic)?.followings;
    const ask = (): void => this.#ignore(() => this.pubsub.publish(topic, ASK, {}));
    const following = this.#processes.follow(process, ask, wake);
    followings?.add(following);
    return {
      get isDead() {
        return following.isDead;
      },
      stop: () => {
        followings?.delete(following);
        following.stop();
      },
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
