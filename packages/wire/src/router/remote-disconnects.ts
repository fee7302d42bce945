/**
 * Disconnects that travel: told to the other processes of the router over its pub/sub, and asked for by a process that
 * could not hear for a while. All remember them, so that whoever told may be gone.
 */
import { isObject } from "../protocol/envelope.ts";
import { WsError } from "../protocol/error.ts";
import { uuidv7 } from "../protocol/uuid.ts";
import type { PublishResult, PubSub, Subscriber } from "../pubsub/pubsub.ts";
import type { Clock } from "./clock.ts";
import { isCloseCode } from "./connection.ts";
import { type DisconnectMatch, type DisconnectOptions, isPlainMatch } from "./disconnect.ts";

/** No application can use the empty topic: what is said there is among routers. */
const TOPIC = "";
const TELL = "$ws:disconnect";
const ASK = "$ws:disconnects";
const TRY_EVERY_MS = 250;
/** Whoever is revoked is gone by then, or the caller knows that he may not be. */
const GIVE_UP_AFTER_MS = 5_000;
/** A broker that was away is found again by everybody within this time: NATS clients try every two seconds. */
const FOUND_AGAIN_MS = 2_500;
const REMEMBER_MS = 5 * 60_000;
const MAX_REMEMBERED = 10_000;
/** Whoever is asked waits for up to so long, and is silent if another has answered. */
const LONGEST_PAUSE_MS = 200;

interface Disconnect {
  readonly id: string;
  readonly match: DisconnectMatch;
  readonly code: number;
  readonly reason: string;
}

interface Remembered {
  readonly disconnect: Disconnect;
  /** When it was told first, by the monotonic clock. */
  readonly at: number;
  /** When it was last told, by whomever. */
  toldAt: number;
}

/** Closes what matches here, unless it was opened in the last `ageMs`. */
export type CloseMatching = (match: DisconnectMatch, options: DisconnectOptions, ageMs: number) => void;

export class RemoteDisconnects implements Subscriber {
  readonly #id = uuidv7();
  readonly #bus: PubSub;
  readonly #close: CloseMatching;
  readonly #clock: Clock;
  /** What was told, here or elsewhere, and so is done here; the oldest first. */
  readonly #told = new Map<string, Remembered>();
  #isListening = false;
  /** When the broker was last known to be away. */
  #awayAt = Number.NEGATIVE_INFINITY;
  /** How often there was something to ask. */
  #questions = 0;
  #isAsking = false;
  /** When the latest question of the others came. */
  #askedAt = 0;
  #isAnswering = false;

  constructor(bus: PubSub, close: CloseMatching, clock: Clock) {
    this.#bus = bus;
    this.#close = close;
    this.#clock = clock;
  }

  /** Listens, from now on. */
  start(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    void this.#listen();
  }

  stop(): void {
    this.#isListening = false;
    void Promise.resolve(this.#bus.unsubscribe(TOPIC, this)).catch(ignore);
  }

  /** Resolves once the other processes are told; rejects when the pub/sub does not take it. */
  async tell(match: DisconnectMatch, code: number, reason: string): Promise<void> {
    const told = this.#remember({ id: uuidv7(), match, code, reason }, 0);
    let result = await this.#tell(told);
    if (result.ok && this.#mayBeUnheard) {
      // Whoever finds the broker later than we do asks what was said; until then somebody who knows has to be there.
      await this.#pause(FOUND_AGAIN_MS);
      result = await this.#tell(told);
    }
    if (result.ok) return;
    throw new WsError(
      "UNAVAILABLE",
      "Connections of this process are closed, but the others could not be told: the pub/sub did not take it. Try again.",
      { ...result.details, error: result.error },
    );
  }

  // --- as a subscriber ---

  deliver(_topic: string, frame: string): number {
    const said = parse(frame);
    if (said === undefined || said["from"] === this.#id) return 0;
    if (said["type"] === ASK) void this.#answer();
    else if (isDisconnect(said)) this.#obey(said, ageOf(said));
    return 0;
  }

  missed(): void {
    this.#awayAt = this.#clock.now();
    this.#catchUp();
  }

  /** Asks the others what they said meanwhile, and answers what they may have asked. */
  #catchUp(): void {
    void this.#ask();
    void this.#answer();
  }

  /** For as long as it takes: who does not know who was disconnected must not believe that nobody was. */
  async #ask(): Promise<void> {
    this.#questions++;
    if (this.#isAsking) return;
    this.#isAsking = true;
    for (let asked = 0; asked < this.#questions && this.#isListening; ) {
      const question = this.#questions;
      const result = await this.#publish(() => ({ type: ASK }));
      // One that was closed takes nothing any more.
      if (result.ok || !result.retryable) asked = question;
    }
    this.#isAsking = false;
  }

  #obey({ id, match, code, reason }: Disconnect, ageMs: number): void {
    const known = this.#told.get(id);
    if (known !== undefined) {
      known.toldAt = this.#clock.now();
      return;
    }
    this.#remember({ id, match, code, reason }, ageMs);
    this.#close(match, { code, reason }, ageMs);
  }

  /** Once for all who ask at about the same time, and only what no other has answered. */
  async #answer(): Promise<void> {
    this.#askedAt = this.#clock.now();
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    await this.#pause(Math.random() * LONGEST_PAUSE_MS);
    for (let askedAt = -1; askedAt < this.#askedAt; ) {
      askedAt = this.#askedAt;
      for (const told of [...this.#told.values()]) {
        if (told.toldAt >= askedAt || this.#clock.now() - told.at >= REMEMBER_MS) continue;
        await this.#tell(told);
      }
    }
    this.#isAnswering = false;
  }

  // --- on the bus ---

  #tell(told: Remembered): Promise<PublishResult> {
    told.toldAt = this.#clock.now();
    return this.#publish(() => {
      // Rounded so that whoever was there is meant, though clocks tick by the millisecond.
      const ageMs = Math.max(0, Math.floor(this.#clock.now() - told.at) - 1);
      return { type: TELL, ...told.disconnect, ageMs };
    });
  }

  /** Tries until the broker takes it, for a while. */
  async #publish(say: () => object): Promise<PublishResult> {
    const giveUpAt = this.#clock.now() + GIVE_UP_AFTER_MS;
    for (;;) {
      const result = await this.#attempt({ ...say(), from: this.#id });
      if (result.ok || !result.retryable) return result;
      this.#awayAt = this.#clock.now();
      if (this.#awayAt >= giveUpAt) return result;
      await this.#pause();
    }
  }

  async #attempt(said: object): Promise<PublishResult> {
    try {
      return await this.#bus.publish(TOPIC, JSON.stringify(said), {});
    } catch {
      return { ok: false, error: "DISCONNECTED", retryable: true };
    }
  }

  async #listen(): Promise<void> {
    while (this.#isListening) {
      try {
        const confirmed = this.#bus.subscribe(TOPIC, this);
        if (confirmed === undefined) return;
        await confirmed;
        // Something may have been said since this process opened its doors.
        this.#catchUp();
        return;
      } catch {
        await this.#pause();
      }
    }
  }

  /** Others may not have found the broker yet. */
  get #mayBeUnheard(): boolean {
    return this.#bus.status?.connected === false || this.#clock.now() - this.#awayAt < FOUND_AGAIN_MS;
  }

  #pause(delayMs = TRY_EVERY_MS): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimeout(resolve, delayMs);
    });
  }

  #remember(disconnect: Disconnect, ageMs: number): Remembered {
    const now = this.#clock.now();
    if (this.#told.size >= MAX_REMEMBERED)
      for (const oldest of this.#told.keys()) if (this.#told.delete(oldest)) break;
    const told = { disconnect, at: now - ageMs, toldAt: now };
    this.#told.set(disconnect.id, told);
    return told;
  }
}

function parse(frame: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(frame);
    return isObject(said) ? said : undefined;
  } catch {
    return undefined;
  }
}

/** How long ago it was told first; 0 for just now. */
function ageOf({ ageMs }: Record<string, unknown>): number {
  return typeof ageMs === "number" && ageMs > 0 ? ageMs : 0;
}

/** Whoever can reach the broker can write to it: only what we would say is believed. */
function isDisconnect(said: Record<string, unknown>): said is Record<string, unknown> & Disconnect {
  const { type, id, match, code, reason } = said;
  return (
    type === TELL &&
    typeof id === "string" &&
    typeof code === "number" &&
    isCloseCode(code) &&
    typeof reason === "string" &&
    isMatch(match)
  );
}

function isMatch(match: unknown): match is DisconnectMatch {
  if (!isObject(match) || !isPlainMatch(match)) return false;
  const { clientId, topic, data } = match;
  return clientId !== undefined || topic !== undefined || (isObject(data) && Object.keys(data).length > 0);
}

function ignore(): void {}
