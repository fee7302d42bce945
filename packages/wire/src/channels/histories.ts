/** The topics with history that connections of one server use. */
import { requireHistory } from "../pubsub/history-rules.ts";
import type { Server } from "../router/contracts.ts";
import type { AnyChannel } from "../schema/channel.ts";
import { HistoryTopic } from "./history-topic.ts";

export class Histories {
  readonly #server: Server;
  readonly #topics = new Map<string, { readonly history: HistoryTopic; users: number }>();

  constructor(server: Server) {
    this.#server = server;
  }

  /** For one join or membership more; `close` ends it. */
  open(topic: string, { pattern }: AnyChannel): HistoryTopic {
    const existing = this.#topics.get(topic);
    if (existing !== undefined) {
      existing.users++;
      return existing.history;
    }
    const store = requireHistory(this.#server.pubsub, `The channel "${pattern}"`);
    const history = new HistoryTopic(topic, this.#server, store);
    this.#topics.set(topic, { history, users: 1 });
    return history;
  }

  close(topic: string): void {
    const entry = this.#topics.get(topic);
    if (entry === undefined || --entry.users > 0) return;
    this.#topics.delete(topic);
    entry.history.close();
  }
}
