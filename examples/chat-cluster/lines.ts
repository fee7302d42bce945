/** The history in Redis, which all processes share. A topic only announces new lines. */
import { type Line, line } from "@halyard/example-chat-node/messages";
import type { RedisClientType } from "redis";

const KEPT_LINES = 500;
const REMEMBER_IDS_SECONDS = 3_600;

export class Lines {
  readonly #redis: Pick<RedisClientType, "set" | "rPush" | "lTrim" | "lRange">;
  readonly #prefix: string;

  constructor(redis: Pick<RedisClientType, "set" | "rPush" | "lTrim" | "lRange">, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** False when this line was added before, so a client may safely send it again. */
  async add(room: string, line: Line): Promise<boolean> {
    const mark = `${this.#prefix}said:${room}:${line.from}:${line.id}`;
    const isNew = await this.#redis.set(mark, "1", {
      condition: "NX",
      expiration: { type: "EX", value: REMEMBER_IDS_SECONDS },
    });
    if (isNew === null) return false;
    await this.#redis.rPush(this.#key(room), JSON.stringify(line));
    await this.#redis.lTrim(this.#key(room), -KEPT_LINES, -1);
    return true;
  }

  /** From the index of the first to that of the last. Negative indexes count from the end. */
  async read(room: string, first: number, last: number): Promise<Line[]> {
    const lines = await this.#redis.lRange(this.#key(room), first, last);
    return lines.map((text) => line.parse(JSON.parse(text)));
  }

  #key(room: string): string {
    return `${this.#prefix}lines:${room}`;
  }
}
