/** The contract of the notification bus: processes announce committed changes on it. Polling finds what the bus misses. */

export type BusState = "off" | "up" | "down";

export interface Bus {
  /** Notifies all processes, including this one. Returns immediately; polling covers failures. */
  publish(tenant: string, revision: number): void;
  /** Sends a JSON object to all processes, including this one. It may get lost. */
  send(text: string): void;
  /** `up` while this process receives notifications. */
  state(): BusState;
  close(): Promise<void>;
}

/** Receives the notifications of a bus. */
export interface BusListener {
  /** A process has committed a change. */
  changed(tenant: string, revision: number): void;
  /** Connected or reconnected. Earlier notifications were missed. */
  connected(): void;
}

export type ConnectBus = (listener: BusListener) => Bus;
