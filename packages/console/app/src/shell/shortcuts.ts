/** Keyboard shortcuts: single keys outside of text fields, sequences that start with `g`, and the palette everywhere. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { isTyping } from "../ui/typing.ts";

interface Openers {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

/** The second key after `g`, and the screen that it opens. */
export const DESTINATIONS = {
  f: "/",
  p: "/people",
  s: "/segments",
  e: "/explain",
  h: "/history",
  a: "/audit",
  v: "/activity",
  k: "/keys",
  l: "/health",
} as const;

const SEQUENCE_MS = 1_000;

export function useShortcuts({ openPalette, openHelp }: Openers): void {
  const navigate = useNavigate();
  const openers = useRef({ openPalette, openHelp });
  openers.current = { openPalette, openHelp };
  useEffect(() => {
    let startedAt = 0;
    const listen = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openers.current.openPalette();
        return;
      }
      if (event.defaultPrevented || isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey)
        return;
      if (document.querySelector("[role=dialog]") !== null) return;
      const isSecond = event.timeStamp - startedAt < SEQUENCE_MS && startedAt !== 0;
      startedAt = 0;
      if (isSecond && isDestination(event.key)) {
        event.preventDefault();
        void navigate({ to: DESTINATIONS[event.key] });
      } else if (event.key === "g") {
        startedAt = event.timeStamp;
      } else if (event.key === "?") {
        event.preventDefault();
        openers.current.openHelp();
      } else if (event.key === "/") {
        event.preventDefault();
        const search = document.querySelector<HTMLInputElement>("input[type=search]");
        if (search === null) openers.current.openPalette();
        else search.focus();
      } else if (event.key === "n") {
        event.preventDefault();
        void navigate({ to: "/", search: { create: true } });
      }
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [navigate]);
}

function isDestination(key: string): key is keyof typeof DESTINATIONS {
  return Object.hasOwn(DESTINATIONS, key);
}
