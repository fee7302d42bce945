/** The contract by which processes announce committed changes to each other. Polling finds what an announcement misses. */

export type BusState = "off" | "up" | "down";

export interface Announcer {
  /** Tells all processes, including this one, of a change. Returns immediately; polling covers failures. */
  announce(tenant: string, revision: number): void;
  /** Sends a JSON object to all processes, including this one. It may get lost. */
  send(text: string): void;
  /** `up` while this process receives announcements. */
  state(): BusState;
  close(): Promise<void>;
}

/** Receives the announcements of all processes. */
export interface AnnouncementListener {
  /** A process has committed a change. */
  changed(tenant: string, revision: number): void;
  /** Connected or reconnected. Earlier announcements were missed. */
  connected(): void;
}

export type ConnectBus = (listener: AnnouncementListener) => Announcer;
