/** The history of a pub/sub with a broker: appends are numbered and limited as publishes are. */
import { encodeAppendedHeader } from "./broker-message.ts";
import type {
  AppendOptions,
  AppendResult,
  History,
  HistoryPage,
  HistoryPosition,
  HistoryReadOptions,
} from "./history.ts";
import { invalidAppend } from "./history-rules.ts";
import { topicProblem } from "./message-checks.ts";
import type { PublishResult } from "./pubsub.ts";
import type { TransportLogs } from "./transport.ts";

/** Stands for the position that the broker adds to the header, at its longest. */
const POSITION: string = " ".repeat(81);

/** The sequence numbers of a message. */
export interface Numbers {
  readonly sequence: number;
  readonly previous: number;
}

/** A message ready to be sent. */
export interface Prepared<Reply> {
  /** The text whose size is limited. */
  readonly text: string;
  send(): Promise<Reply>;
}

export type Carried<Reply> =
  | { readonly ok: true; readonly reply: Reply }
  | Extract<PublishResult, { readonly ok: false }>;

/** What the history uses of its pub/sub. */
export interface Carrier {
  /** The id of the pub/sub in messages. */
  readonly id: string;
  /** Numbers and sends a message of the topic. `isPublished` tells from the reply whether subscribers receive it. */
  carry<Reply>(
    topic: string,
    prepare: (numbers: Numbers) => Prepared<Reply>,
    isPublished: (reply: Reply) => boolean,
  ): Promise<Carried<Reply>>;
  /** Rejects when there is no reply in time. */
  ask<Reply>(ask: () => Promise<Reply>): Promise<Reply>;
  isClosed(): boolean;
}

export class BrokerHistory implements History {
  readonly #logs: TransportLogs;
  readonly #carrier: Carrier;

  constructor(logs: TransportLogs, carrier: Carrier) {
    this.#logs = logs;
    this.#carrier = carrier;
  }

  async append(topic: string, frame: string, options: AppendOptions): Promise<AppendResult> {
    const problem = this.#logs.problemOf(topic);
    const details = problem === undefined ? invalidAppend(options) : { topic: problem };
    if (details !== undefined) return { ok: false, error: "VALIDATION", retryable: false, details };
    const { excludeClientId } = options;
    const carried = await this.#carrier.carry(
      topic,
      ({ sequence, previous }) => {
        const header = encodeAppendedHeader({
          publisher: this.#carrier.id,
          sequence,
          previous,
          excludeClientId,
        });
        const text = header + POSITION + frame;
        return { text, send: () => this.#logs.append(topic, { header, frame, options }) };
      },
      (reply) => typeof reply === "object" && !reply.isRepeated,
    );
    if (!carried.ok) return carried;
    const { reply } = carried;
    if (typeof reply !== "string") return { ok: true, ...reply };
    if (reply !== "FULL") return { ok: false, error: reply, retryable: false };
    return { ok: false, error: reply, retryable: true, details: { reason: "the broker has no memory left" } };
  }

  read(topic: string, options: HistoryReadOptions): Promise<HistoryPage> {
    return this.#ask(topic, () => this.#logs.read(topic, options));
  }

  async top(topic: string): Promise<HistoryPosition> {
    const { epoch, top } = await this.read(topic, { maxItems: 0, maxBytes: 0 });
    return { epoch, offset: top };
  }

  delete(topic: string): Promise<void> {
    return this.#ask(topic, () => this.#logs.delete(topic));
  }

  #ask<Reply>(topic: string, ask: () => Promise<Reply>): Promise<Reply> {
    if (this.#carrier.isClosed())
      return Promise.reject(
        new Error("The pub/sub was closed with close(). Create a new one to read the history."),
      );
    const problem = topicProblem(topic) ?? this.#logs.problemOf(topic);
    return problem === undefined ? this.#carrier.ask(ask) : Promise.reject(new TypeError(problem));
  }
}
