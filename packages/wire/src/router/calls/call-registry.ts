/**
 * The durable calls that one process knows: those it runs, and those its connections read. While there are any, it
 * watches its peers, so that the end of a process is the end of its calls.
 */
import { type PeerReader, type Peers, peersOf } from "../../peers/peers.ts";
import { WsError } from "../../protocol/error.ts";
import type { PubSub, Subscriber } from "../../pubsub/pubsub.ts";
import { type CallLog, errorFrame, existing, isEnd, outOfMemory } from "./call-log.ts";
import { type CallRun, cancelled } from "./call-run.ts";
import { FollowedCall } from "./followed-call.ts";

/** Published on the topic of a call: a process that reads it asks whether it still runs, and the one that runs it answers. */
const ASK = "?";
const RUNNING = "!";
/** The same: the broker has no memory left for the end of the call. */
const FULL = "~";

/** Peers are watched for this long after the last call, so that short calls do not begin it again and again. */
const IDLE_MS = 10_000;

/** Called when the log of a call may have grown, or its process is dead; with the reason when no end can be read for now. */
export type Wake = (failure?: WsError) => void;

interface Watched {
  readonly subscriber: Subscriber;
  readonly wakes: Set<Wake>;
  readonly followings: Set<FollowedCall>;
  readonly confirmed: Promise<void>;
}

export class CallRegistry implements PeerReader {
  readonly pubsub: PubSub;
  readonly #peers: Peers;
  readonly #runs = new Map<string, CallRun>();
  /** The ids of calls that are being started. */
  readonly #starting = new Set<string>();
  /** Starts whose header is being written, by the id of the call. */
  readonly #starts = new Map<string, Promise<unknown>>();
  /** How many calls of each owner run, or are being started. */
  readonly #running = new Map<string, number>();
  readonly #watched = new Map<string, Watched>();
  /** Calls of other processes that are read here. */
  readonly #followed = new Set<FollowedCall>();
  /** Monotonic time in ms when a call was last run or read here. */
  #usedAt = 0;

  constructor(pubsub: PubSub) {
    this.pubsub = pubsub;
    this.#peers = peersOf(pubsub);
  }

  /** Identifies this process in the headers of its calls. */
  get process(): string {
    return this.#peers.id;
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
    this.#watchPeers();
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
    if (run !== undefined) return run.abort();
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
    const followings = new Set<FollowedCall>();
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
        for (const following of followings) following.doubt(this.#peers.clock.now());
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

  // --- peers ---

  #watchPeers(): void {
    this.#usedAt = this.#peers.clock.now();
    if (this.#peers.isRemote) this.#peers.join(this, true);
  }

  /** Follows the process that runs a watched call, and wakes the reader when it does not run it any more. */
  follow(
    process: string,
    id: string,
    topic: string,
    wake: Wake,
  ): Pick<FollowedCall, "isDead"> & { stop(): void } {
    if (process === this.process || !this.#peers.isRemote) {
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
    const followed = new FollowedCall(process, ask, wake, this.#peers.clock.now());
    followings?.add(followed);
    this.#followed.add(followed);
    this.#watchPeers();
    return {
      get isDead() {
        return followed.isDead;
      },
      stop: () => {
        followings?.delete(followed);
        this.#followed.delete(followed);
      },
    };
  }

  missed(): void {
    for (const followed of this.#followed) followed.doubt(this.#peers.clock.now());
  }

  changed(): void {
    if (this.#peers.state.isCutOff) this.missed();
  }

  gone(peer: string): void {
    for (const followed of [...this.#followed]) if (followed.process === peer) followed.gone();
  }

  tick(now: number): void {
    const { state } = this.#peers;
    for (const followed of [...this.#followed]) {
      if (state.isCutOff) followed.restart(now);
      else if (!followed.isDead) {
        // One that is silent from the beginning is noticed too.
        state.expect(followed.process, now);
        followed.check(now);
      }
    }
    if (this.#runs.size + this.#followed.size > 0) this.#usedAt = now;
    else if (now - this.#usedAt >= IDLE_MS) this.#peers.leave(this);
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
