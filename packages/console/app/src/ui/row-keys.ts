/** Keys for rows without an id of their own: a row keeps its key, and so its state, when a row before it is removed. */
import { useRef } from "react";

export interface RowKeys {
  readonly of: (place: number) => number;
  /** Forgets the key of a row that is removed next. */
  readonly drop: (place: number) => void;
}

export function useRowKeys(count: number): RowKeys {
  const { current } = useRef({ keys: [] as number[], next: 0 });
  while (current.keys.length < count) {
    current.keys.push(current.next);
    current.next += 1;
  }
  current.keys.length = count;
  return { of: (place) => current.keys[place] ?? -1, drop: (place) => void current.keys.splice(place, 1) };
}

/** Keys for parts that only their text tells apart: equal texts are numbered. */
export function keyed<Part>(parts: readonly Part[], textOf: (part: Part) => string): [string, Part][] {
  const seen = new Map<string, number>();
  return parts.map((part) => {
    const text = textOf(part);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    return [`${text} ${times}`, part];
  });
}
