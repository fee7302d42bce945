/** The end of one turn of Node's event loop: shared batches are written, then corked sockets leave in one system call each. */
import type { Duplex } from "node:stream";

/** Held back longer than this, bytes would look unsent though the peer could take them. */
const UNCORK_AT_BYTES = 65_536;

const corked = new Set<Duplex>();
const tasks: (() => void)[] = [];
let isScheduled = false;

/** Holds back what is written to the socket until this turn of the event loop is over. */
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

/** Lets go of what is held back now. */
export function uncork(socket: Duplex): void {
  if (corked.delete(socket)) socket.uncork();
}

/** Runs a task once this turn of the event loop is over. */
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
  // Reset first: a write that follows from this one belongs to the next turn.
  isScheduled = false;
  for (const task of tasks.splice(0)) task();
  const sockets = [...corked];
  corked.clear();
  for (const socket of sockets) socket.uncork();
}
