/** The reply to `CLUSTER SLOTS`, read: which node has which slots. */
import type { RedisAddress } from "./redis-connection.ts";

export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly address: string;
  readonly node: RedisAddress;
}

export class SlotTable {
  readonly addresses: ReadonlySet<string>;
  readonly #ranges: readonly SlotRange[];

  constructor(reply: unknown) {
    this.#ranges = Array.isArray(reply) ? reply.map(readRange) : [];
    if (this.#ranges.length === 0) throw new Error("the cluster says that it has no slots");
    this.addresses = new Set(this.#ranges.map(({ address }) => address));
  }

  find(slot: number): SlotRange | undefined {
    return this.#ranges.find(({ from, to }) => from <= slot && slot <= to);
  }
}

/** First and last slot, the master, its replicas. */
function readRange(range: unknown): SlotRange {
  const [from, to, master] = Array.isArray(range) ? range : [];
  const [host, port] = Array.isArray(master) ? master : [];
  if (typeof from !== "number" || typeof to !== "number" || typeof port !== "number")
    throw new Error("the cluster's list of slots cannot be read");
  if (typeof host !== "string" || host === "")
    throw new Error(
      "the cluster does not say how its nodes are reached; set cluster-announce-ip or -hostname",
    );
  return { from, to, address: `${host}:${port}`, node: { host, port } };
}
