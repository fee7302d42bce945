/** Moves the clock of this process back, so that the example has a history. Only for example data. */
const Present = Date;

/** Sets how many days ago it is. Times must be given oldest first. */
export type SetDaysAgo = (days: number) => void;

/** `new Date()` and `Date.now()` are in the past while `run` works. */
export async function inThePast<Result>(run: (setDaysAgo: SetDaysAgo) => Promise<Result>): Promise<Result> {
  let shiftMs = 0;
  class Past extends Present {
    constructor(...given: [] | [string | number | Date]) {
      if (given.length === 0) super(Present.now() - shiftMs);
      else super(given[0]);
    }
    static override now(): number {
      return Present.now() - shiftMs;
    }
  }
  globalThis.Date = Past as DateConstructor;
  try {
    return await run((days) => {
      shiftMs = days * 86_400_000;
    });
  } finally {
    shiftMs = 0;
    globalThis.Date = Present;
  }
}
