/** Answers many reads of one kind with few requests: those of the same moment go together. */

/** Reads that begin within this time share a request. */
const TOGETHER_MS = 20;

/** `most`: keys of one request. Only reads of the same scope share one. */
export function createTogether<Scope, Answer>(
  most: number,
  ask: (keys: readonly string[], scope: Scope) => Promise<Answer>,
): (key: string, scope: Scope) => Promise<Answer> {
  const waiting = new Map<Scope, { readonly keys: Set<string>; readonly answer: Promise<Answer> }>();
  return (key, scope) => {
    const open = waiting.get(scope);
    if (open !== undefined && (open.keys.has(key) || open.keys.size < most)) {
      open.keys.add(key);
      return open.answer;
    }
    const keys = new Set([key]);
    const answer = new Promise((resolve) => setTimeout(resolve, TOGETHER_MS)).then(() => {
      // A full group may have a successor.
      if (waiting.get(scope)?.keys === keys) waiting.delete(scope);
      return ask([...keys], scope);
    });
    waiting.set(scope, { keys, answer });
    return answer;
  };
}
