/** Which node of a cluster serves which slots, from the reply to `CLUSTER SLOTS`. */
import type { RedisAddress } from "./connection.ts";

export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly address: string;
  readonly node: RedisAddress;
}

export class SlotTable {
  readonly addresses: ReadonlySet<string>;
  /** The range of each slot. */
  readonly #slots: (SlotRange | undefined)[] = [];
  readonly #text: string;

  constructor(reply: unknown) {
    const ranges = Array.isArray(reply) ? reply.map(readRange) : [];
    if (ranges.length === 0) throw new Error("the Redis Cluster reported no slots");
    this.addresses = new Set(ranges.map(({ address }) => address));
    for (const range of ranges) this.#slots.length = Math.max(this.#slots.length, range.to + 1);
    for (const range of ranges) this.#slots.fill(range, range.from, range.to + 1);
    this.#text = ranges
      .map(({ from, to, address }) => `${from} ${to} ${address}`)
      .sort()
      .join();
  }

  find(slot: number): SlotRange | undefined {
    return this.#slots[slot];
  }

  /** Whether every slot is at the same node in both. */
  equals(other: SlotTable): boolean {
    return this.#text === other.#text;
  }
}

/** A range is an array: first slot, last slot, master, replicas. */
function readRange(range: unknown): SlotRange {
  const [from, to, master] = Array.isArray(range) ? range : [];
  const [host, port] = Array.isArray(master) ? master : [];
  if (!isSlot(from) || !isSlot(to) || typeof port !== "number")
    throw new Error("the reply of the Redis Cluster to CLUSTER SLOTS cannot be read");
  if (typeof host !== "string" || host === "")
    throw new Error(
      "the Redis Cluster does not announce the addresses of its nodes; set cluster-announce-ip or cluster-announce-hostname in its configuration",
    );
  const node = { host, port };
  return { from, to, address: addressName(node), node };
}

/** The address of a node as one text. */
export function addressName({ host, port }: RedisAddress): string {
  return `${host}:${port}`;
}

function isSlot(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < 16_384;
}
