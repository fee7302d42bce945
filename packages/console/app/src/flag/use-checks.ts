/** Where a screen says what is missing: in rules that the person has left, and everywhere once a save has asked. */
import { useEffect, useState } from "react";
import type { Problem } from "./draft/problems.ts";

export interface Checks {
  /** Grows each time a save asks. */
  readonly asked: number;
  readonly isChecked: (rule: string) => boolean;
  readonly isShown: (problem: Problem) => boolean;
  readonly ask: () => void;
  readonly enter: (rule: string) => void;
  readonly leave: (rule: string) => void;
}

const NONE: ReadonlySet<string> = new Set();

/** They end with the draft. */
export function useChecks(isDraftEmpty: boolean): Checks {
  const [asked, setAsked] = useState(0);
  const [left, setLeft] = useState(NONE);
  useEffect(() => {
    if (isDraftEmpty) {
      setAsked(0);
      setLeft(NONE);
    }
  }, [isDraftEmpty]);
  const isChecked = (rule: string): boolean => asked > 0 || left.has(rule);
  return {
    asked,
    isChecked,
    isShown: ({ rule }) => rule === undefined || isChecked(rule),
    ask: () => setAsked(asked + 1),
    enter: (rule) => setLeft((before) => new Set([...before].filter((one) => one !== rule))),
    leave: (rule) => setLeft((before) => new Set([...before, rule])),
  };
}
