/** Copies a text, and says whether it worked. */
import { texts } from "../texts.ts";
import { showToast } from "./toasts.tsx";

export function copyText(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => showToast({ tone: "done", text: texts.common.copied }),
    () => showToast({ tone: "problem", text: texts.common.notCopied }),
  );
}
