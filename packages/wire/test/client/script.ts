/** The commands and reports of a scripted server as plain data, so that a test in another runtime can control it. */

export interface Script {
  /** Default: a free port. */
  readonly port?: number;
  /** The subprotocol to select. Default: halyard.v1.json when offered. */
  readonly protocol?: string;
  /** Fields of hello. False: send no hello. */
  readonly hello?: Readonly<Record<string, unknown>> | false;
  /** Ends every connection, or the first n, immediately. 1006 means without a close frame. */
  readonly refuse?: { readonly code: number; readonly reason: string; readonly times?: number };
  /** Ends every connection after this many ms. */
  readonly lifeMs?: number;
  /** Never respond, not even to pings. */
  readonly mute?: boolean;
  /** The response to a request, by its type. Default: the payload itself. */
  readonly answers?: Readonly<Record<string, Answer>>;
}

interface Answer {
  /** Absent: send only progress, and the test sends the response. */
  readonly type?: string;
  readonly payload?: unknown;
  readonly progress?: readonly unknown[];
  readonly afterMs?: number;
}

/** What the server has received so far, in order. */
export interface Received {
  readonly connections: {
    readonly url: string;
    readonly protocols: readonly string[];
    readonly at: number;
  }[];
  readonly frames: {
    /** Index of the connection, from 0. */
    readonly nth: number;
    readonly type: string;
    readonly meta: Readonly<Record<string, unknown>>;
    readonly payload?: unknown;
  }[];
  readonly closes: { readonly nth: number; readonly code: number; readonly reason: string }[];
}

/** Serialisable calls to a scripted server. `nth` counts connections, and -1 is the last. */
export type Command =
  | { readonly do: "start"; readonly script: Script }
  | { readonly do: "received"; readonly port: number }
  | {
      readonly do: "deliver";
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
