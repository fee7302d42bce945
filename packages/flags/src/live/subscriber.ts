/** One connection that is subscribed to flags: for whom they are evaluated, and what the client has. */
import type { Caller, KnownTies } from "@halyard/sessions/plugin";
import type { EvaluationContext } from "../engine/definition.ts";
import type { BootstrapFeatureFlagsInput } from "../model/evaluation.ts";
import type { ResolvedContext } from "../server/evaluation/context.ts";
import type { Snapshots } from "./layers.ts";
import type { Deleted, DeletedMessage, Sync, SyncMessage, Updated, UpdatedMessage } from "./messages.ts";

/** Sends to one connection. A frame that cannot be sent closes the connection. */
export interface Sender {
  send(schema: typeof Sync, payload: SyncMessage, options?: object): void;
  send(schema: typeof Updated, payload: UpdatedMessage, options?: object): void;
  send(schema: typeof Deleted, payload: DeletedMessage, options?: object): void;
}

/** Who is connected, as the session store last said. */
export interface LiveCaller {
  readonly caller: Exclude<Caller, { kind: "server" }>;
  readonly ties: KnownTies;
}

/** What the client has. */
export interface Held {
  readonly resolved: ResolvedContext;
  /** The tenant whose flags come before the global ones. */
  readonly tenant: string;
  /** With trusted attributes. */
  readonly context: EvaluationContext;
  /** Names everything that the values depend on, except the flags. */
  readonly tag: string;
  snapshots: Snapshots;
  /** When the values were evaluated, in wall-clock time. */
  nowMs: number;
}

export class Subscriber {
  readonly sender: Sender;
  /** Chosen by the client. */
  readonly id: number;
  readonly input: BootstrapFeatureFlagsInput;
  who: LiveCaller;
  /** Undefined until the first values were sent. */
  held: Held | undefined;
  /** The sum of the revisions that the client was last told. */
  toldRevision = 0;
  /** When the next override of the user expires, in wall-clock time. */
  nextExpiryMs: number = Number.POSITIVE_INFINITY;
  /** Set while it waits for an evaluation. */
  isMarked = false;
  /** Set while the session or its attributes may have changed: nothing is sent until they were read. */
  isOutdated = false;
  isSyncing = false;
  isClosed = false;
  /** The tenants whose snapshots it needs. */
  tenants: readonly string[] = [];
  /** Stops following the session. */
  stop: (() => void) | undefined;

  constructor(sender: Sender, id: number, input: BootstrapFeatureFlagsInput, who: LiveCaller) {
    this.sender = sender;
    this.id = id;
    this.input = input;
    this.who = who;
  }

  get userId(): string | undefined {
    return this.held?.context.userId;
  }
}
