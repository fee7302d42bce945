/** The seam of the bus by which nodes tell each other that flags have changed. It makes it quick; polling makes it right. */

export type BusState = "off" | "up" | "down";

export interface Bus {
  /** Tells all nodes, this one included. Returns at once, and what fails is left to polling. */
  publish(tenant: string, revision: number): void;
  /** Whether this node hears the others. */
  state(): BusState;
  close(): Promise<void>;
}

/** What a node does with what it hears. */
export interface BusListener {
  /** A change was committed, somewhere. */
  changed(tenant: string, revision: number): void;
  /** Connected, for the first time or anew: what was said before has not been heard. */
  connected(): void;
}

export type ConnectBus = (listener: BusListener) => Bus;
