/** The upgrades of one server, on any platform: limits, admission within its deadline, and reports of refusals. */
import { later } from "@halyard/base";
import { WsError } from "../protocol/error.ts";
import type { ConnectionData } from "../router/connections/peer.ts";
import type { Server } from "../router/contracts.ts";
import { Admission, overloaded, RETRY_AFTER_MS, timedOut, type Upgrade, type Verdict } from "./admission.ts";
import { RefusalLog } from "./refusal-log.ts";
import type { HandlerOptions } from "./serve-options.ts";
import { UpgradeGate } from "./upgrade-gate.ts";

/** Calls back once when the peer leaves; returns a function that stops listening. */
export type WhenPeerLeaves = (callback: () => void) => () => void;

export class Upgrades<Data extends ConnectionData> {
  readonly #server: Server;
  readonly #options: HandlerOptions<Data>;
  readonly #admission: Admission<Data>;
  readonly #gate: UpgradeGate;
  readonly #log: RefusalLog;
  readonly #timeoutMs: number;
  #isRefusing = false;

  constructor(server: Server, options: HandlerOptions<Data>, log: RefusalLog = new RefusalLog()) {
    this.#server = server;
    this.#options = options;
    this.#log = log;
    this.#timeoutMs = server.handshakeTimeoutMs;
    this.#gate = new UpgradeGate(options, () => server.connections.size);
    this.#admission = new Admission(options, {
      error: (error) => this.#reportThrown(error),
      refused: (reason, text) => this.#log.refused(reason, text),
    });
  }

  /** Whether the server is stopping and refuses all upgrades. */
  get isRefusing(): boolean {
    return this.#isRefusing;
  }

  refuseAll(): void {
    this.#isRefusing = true;
  }

  /** Decides on one upgrade. Resolves to undefined when the peer left before. */
  async decide(upgrade: Upgrade, whenPeerLeaves?: WhenPeerLeaves): Promise<Verdict | undefined> {
    // Before the limits: callers of another path must not use up the budget of this one.
    const elsewhere = this.#admission.refusePath(upgrade);
    if (elsewhere !== undefined) return elsewhere;
    if (this.#isRefusing) return overloaded(upgrade, RETRY_AFTER_MS);
    const refusal = this.#gate.enter();
    if (refusal !== undefined) {
      this.#server.counters.refusedUpgrades++;
      return overloaded(upgrade, refusal.kind === "later" ? refusal.retryAfterMs : undefined);
    }
    try {
      const judged = this.#admission.judge(upgrade);
      const verdict = await (this.#options.authenticate === undefined
        ? judged
        : this.#inTime(judged, upgrade, whenPeerLeaves));
      return this.#isRefusing && verdict?.kind === "admit" ? overloaded(upgrade, RETRY_AFTER_MS) : verdict;
    } finally {
      this.#gate.leave();
    }
  }

  /** A verdict that comes too late, or after the peer left, has no effect. */
  #inTime(
    judged: Promise<Verdict>,
    upgrade: Upgrade,
    whenPeerLeaves: WhenPeerLeaves | undefined,
  ): Promise<Verdict | undefined> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        stopListening?.();
      };
      // A pending login must not keep a process alive whose server has stopped.
      const timer = later(() => {
        end();
        this.#reportTimeout();
        resolve(timedOut(upgrade));
      }, this.#timeoutMs);
      const stopListening = whenPeerLeaves?.(() => {
        end();
        resolve(undefined);
      });
      judged.then(resolve, reject).finally(end);
    });
  }

  #reportTimeout(): void {
    const text = `A login was refused (1013): authenticate did not settle within ${this.#timeoutMs} ms (handshakeTimeoutMs). Give the calls it makes a shorter timeout.`;
    this.#log.refused("timeout", text);
    if (this.#options.onError !== undefined)
      this.#server.reportOutside(new WsError("DEADLINE_EXCEEDED", text));
  }

  /** Only to the application's `onError`; the log has a line per minute. */
  #reportThrown(error: unknown): void {
    if (this.#options.onError !== undefined)
      this.#server.reportOutside(WsError.wrap(error, "UNAUTHENTICATED"));
  }
}
