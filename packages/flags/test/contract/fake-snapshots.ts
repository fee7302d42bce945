/** Snapshots over a fake source and fake clocks, new for each test. */
import { afterEach, beforeEach, vi } from "vitest";
import { Snapshots } from "../../src/store/snapshot/snapshots.ts";
import { FakeSource } from "./fake-source.ts";

/** The error of an evaluation whose flags are not loaded. */
export const NOT_LOADED = { code: "STORAGE_ERROR", status: 503, details: { retryAfter: 1 } } as const;

export class FakeSnapshots {
  readonly source: FakeSource = new FakeSource();
  readonly warnings: string[] = [];
  /** The error of each warning. */
  readonly causes: unknown[] = [];
  readonly snapshots: Snapshots;
  nowMs = 0;

  constructor(pollMs: number) {
    const warn = (message: string, error: unknown) => {
      this.warnings.push(message);
      this.causes.push(error);
    };
    this.snapshots = new Snapshots(this.source, { warn, monotonicMs: () => this.nowMs, pollMs });
  }

  async revision(tenant = ""): Promise<number> {
    return (await this.snapshots.get(tenant)).snapshot.revision;
  }

  /** Moves both clocks, in steps if work in the middle must see the time pass. */
  async pass(ms: number, stepMs: number = ms): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      this.nowMs += stepMs;
      await vi.advanceTimersByTimeAsync(stepMs);
    }
  }
}

/** Call it within a `describe`. */
export function withFakeSnapshots(pollMs: number): () => FakeSnapshots {
  let fake: FakeSnapshots | undefined;
  beforeEach(() => {
    vi.useFakeTimers();
    fake = new FakeSnapshots(pollMs);
  });
  afterEach(() => {
    fake?.snapshots.close();
    vi.useRealTimers();
  });
  return () => {
    if (fake === undefined) throw new Error("Use it within a test.");
    return fake;
  };
}

/** Lets everything that has been started, and waits for nothing, come to its end. */
export async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}
