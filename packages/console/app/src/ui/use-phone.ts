/** Whether the window is as narrow as a phone's: the width of the styles. */
import { useSyncExternalStore } from "react";

const PHONE = "(max-width: 47.5rem)";

export function usePhone(): boolean {
  return useSyncExternalStore(follow, () => matchMedia(PHONE).matches);
}

function follow(onChange: () => void): () => void {
  const media = matchMedia(PHONE);
  media.addEventListener("change", onChange);
  return () => media.removeEventListener("change", onChange);
}
