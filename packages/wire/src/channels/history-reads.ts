/** Reads of the history for joins of one connection. Each holds a page in memory, so only a few run at once. */
import type { Connection } from "../router/contracts.ts";

const MAX_READS = 8;

/** The number of reads that run, and the joins that wait for one to end. */
interface Reads {
  running: number;
  readonly waiting: (() => void)[];
}

const reads = new WeakMap<Connection, Reads>();

/** Runs the task when fewer than 8 run for the connection, and its buffer has room for what is read. */
export async function readInTurn(connection: Connection, task: () => Promise<void>): Promise<void> {
  const own = reads.get(connection) ?? { running: 0, waiting: [] };
  reads.set(connection, own);
  if (own.running >= MAX_READS) await new Promise<void>((resolve) => own.waiting.push(resolve));
  else own.running++;
  try {
    if (connection.isSlow) await connection.whenDrained(undefined);
    await task();
  } finally {
    // The next one takes over the place.
    const next = own.waiting.shift();
    if (next === undefined) own.running--;
    else next();
  }
}
