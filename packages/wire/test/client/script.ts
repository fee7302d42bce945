/** What a scripted server is told and what it tells: plain data, so that a test in another runtime can drive it. */

export interface Script {
  /** Default: a free one. */
  readonly port?: number;
  /** The subprotocol to select. Default: Halyard's when offered. */
  readonly protocol?: string;
  /** Fields of the greeting; false: none. */
  readonly hello?: Readonly<Record<string, unknown>> | false;
  /** End every connection, or the first so many, at once; 1006 without a close frame. */
  readonly refuse?: { readonly code: number; readonly reason: string; readonly times?: number };
  /** End every connection after this long. */
  readonly lifeMs?: number;
  /** Answer nothing, not even pings. */
  readonly mute?: boolean;
  /** How to answer a request, by its type. The payload is echoed unless there is one. */
  readonly answers?: Readonly<Record<string, Answer>>;
}

interface Answer {
  /** Left out: progress alone, and the answer is the test's to give. */
  readonly type?: string;
  readonly payload?: unknown;
  readonly progress?: readonly unknown[];
  readonly afterMs?: number;
}

/** What the server has seen so far, in order. */
export interface Heard {
  readonly connections: {
    readonly url: string;
    readonly protocols: readonly string[];
    readonly at: number;
  }[];
  readonly frames: {
    /** The connection it came over, counted from 0. */
    readonly nth: number;
    readonly type: string;
    readonly meta: Readonly<Record<string, unknown>>;
    readonly payload?: unknown;
  }[];
  readonly closes: { readonly nth: number; readonly code: number; readonly reason: string }[];
}

/** Calls to a scripted server, as they travel. `nth` counts connections; -1 is the last. */
export type Command =
  | { readonly do: "start"; readonly script: Script }
  | { readonly do: "heard"; readonly port: number }
  | {
      readonly do: "say";
      readonly port: number;
      readonly nth: number;
      readonly type: string;
      readonly payload?: unknown;
      readonly meta?: object;
    }
  | { readonly do: "raw"; readonly port: number; readonly nth: number; readonly frame: string }
  | { readonly do: "binary"; readonly port: number; readonly nth: number }
  | {
      readonly do: "close";
      readonly port: number;
      readonly nth: number;
      readonly code: number;
      readonly reason: string;
    }
  | { readonly do: "terminate"; readonly port: number; readonly nth: number }
  | { readonly do: "stop"; readonly port: number };
