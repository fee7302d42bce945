/** The keys of a flag's screen: save, undo, the next environment, see as. Those of a rule are in its step. */
import { useEffect, useRef } from "react";
import { isTyping } from "../ui/typing.ts";

export interface FlagKeys {
  readonly onSave: (() => void) | undefined;
  readonly onUndo: (() => void) | undefined;
  readonly onEnvironment: (step: 1 | -1) => void;
}

export function useFlagKeys(keys: FlagKeys): void {
  const newest = useRef(keys);
  newest.current = keys;
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const run = actionOf(event, newest.current);
      if (run === undefined || document.querySelector("[role=dialog]") !== null) return;
      event.preventDefault();
      run();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
}

function actionOf(event: KeyboardEvent, keys: FlagKeys): (() => void) | undefined {
  const { key, target } = event;
  const isMod = event.metaKey || event.ctrlKey;
  if (isMod && key.toLowerCase() === "s") return keys.onSave;
  if (isTyping(target) || event.altKey || event.shiftKey) return undefined;
  if (isMod) return key.toLowerCase() === "z" ? keys.onUndo : undefined;
  if (key === "[") return () => keys.onEnvironment(-1);
  if (key === "]") return () => keys.onEnvironment(1);
  if (key === "s") return () => document.querySelector<HTMLElement>(".see-as input")?.focus();
  return undefined;
}
