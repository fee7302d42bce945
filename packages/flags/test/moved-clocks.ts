/** Moves the clocks of this process, so that a test need not wait for a time to pass. Timers are not moved. */
import { onTestFinished, vi } from "vitest";

export interface MovedClocks {
  pass(ms: number): void;
}

/** Call it before the code under test starts: it may keep a reference to the clock. */
export function moveClocks(): MovedClocks {
  let aheadMs = 0;
  for (const clock of [performance, Date]) {
    const realNow = clock.now.bind(clock);
    const moved = vi.spyOn(clock, "now").mockImplementation(() => realNow() + aheadMs);
    onTestFinished(() => void moved.mockRestore());
  }
  return {
    pass(ms) {
      aheadMs += ms;
    },
  };
}
