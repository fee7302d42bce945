/** Changes of a flag that are not saved yet. They stay when the flag is read again, and vanish when they are saved. */
import { useState } from "react";
import type { FeatureFlagPatch, Flag } from "../api/types.ts";
import { patched } from "./patch.ts";

export interface Draft {
  /** The flag as it would be. */
  readonly next: Flag;
  /** Only what differs from the stored flag; undefined when nothing does. */
  readonly fields: FeatureFlagPatch | undefined;
  readonly set: (fields: FeatureFlagPatch) => void;
  readonly discard: () => void;
}

export function useDraft(flag: Flag): Draft {
  const [drafted, setDrafted] = useState<FeatureFlagPatch>({});
  const next = patched(flag, drafted);
  const changed = Object.entries(drafted).filter(([name]) => !isSame(flag, next, name));
  return {
    next,
    fields: changed.length === 0 ? undefined : Object.fromEntries(changed),
    set: (fields) => setDrafted((before) => ({ ...before, ...fields })),
    discard: () => setDrafted({}),
  };
}

function isSame(flag: Flag, next: Flag, name: string): boolean {
  const read = (from: Flag): unknown => (from as unknown as Record<string, unknown>)[name];
  return JSON.stringify(read(flag)) === JSON.stringify(read(next));
}
