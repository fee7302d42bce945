/** Changes of a flag that are not saved yet. They stay when the flag is read again, and vanish when they are saved. */
import { useRef, useState } from "react";
import type { FeatureFlagPatch, Flag } from "../api/types.ts";
import { patched } from "./patch.ts";

export interface Draft {
  /** The flag as it would be. */
  readonly next: Flag;
  /** Only what differs from the stored flag; undefined when nothing does. */
  readonly fields: FeatureFlagPatch | undefined;
  /** The flag at the first change, if another person has changed one of the same fields since. */
  readonly outdated: Flag | undefined;
  readonly set: (fields: FeatureFlagPatch) => void;
  /** Removes these changes; without them, all. What was typed since stays. */
  readonly discard: (fields?: FeatureFlagPatch) => void;
}

export function useDraft(flag: Flag): Draft {
  const [drafted, setDrafted] = useState<FeatureFlagPatch>({});
  const base = useRef<Flag>(undefined);
  const next = patched(flag, drafted);
  const changed = Object.entries(drafted).filter(([name]) => !isSame(flag, next, name));
  const from = base.current;
  const isOutdated = from !== undefined && changed.some(([name]) => !isSame(from, flag, name));
  return {
    next,
    fields: changed.length === 0 ? undefined : Object.fromEntries(changed),
    outdated: isOutdated ? from : undefined,
    set: (fields) => {
      if (changed.length === 0) base.current = flag;
      setDrafted((before) => ({ ...before, ...fields }));
    },
    discard: (fields) => setDrafted((before) => (fields === undefined ? {} : without(before, fields))),
  };
}

function without(drafted: FeatureFlagPatch, fields: FeatureFlagPatch): FeatureFlagPatch {
  const saved = new Map<string, unknown>(Object.entries(fields));
  return Object.fromEntries(Object.entries(drafted).filter(([name, value]) => saved.get(name) !== value));
}

function isSame(flag: Flag, next: Flag, name: string): boolean {
  const read = (from: Flag): unknown => (from as unknown as Record<string, unknown>)[name];
  return JSON.stringify(read(flag)) === JSON.stringify(read(next));
}
