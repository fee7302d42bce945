/** Work at the end of a turn of Node's event loop: writes batches, then uncorks sockets, with one system call per socket. */
import type { Duplex } from "node:stream";

/** Above this, corked bytes are written at once; held back longer, they would count as unsent. */
const UNCORK_AT_BYTES = 65_536;

const corked = new Set<Duplex>();
const tasks: (() => void)[] = [];
let isScheduled = false;

/** Collects the writes to the socket until the end of this turn of the event loop. */
export function cork(socket: Duplex): void {
  if (corked.has(socket)) {
    if (socket.writableLength > UNCORK_AT_BYTES) {
      socket.uncork();
      socket.cork();
    }
    return;
  }
  schedule();
  corked.add(socket);
  socket.cork();
}

/** Writes the collected bytes now. */
export function uncork(socket: Duplex): void {
  if (corked.delete(socket)) socket.uncork();
}

/** Runs a task at the end of this turn of the event loop. */
export function atEndOfTurn(task: () => void): void {
  schedule();
  tasks.push(task);
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(finish);
}

function finish(): void {
  // Reset first: a write that is caused here belongs to the next turn.
  isScheduled = false;
  for (const task of tasks.splice(0)) task();
  const sockets = [...corked];
  corked.clear();
  for (const socket of sockets) socket.uncork();
}
