/** Copies a text, and says whether it worked. */
import { texts } from "../texts.ts";
import { showToast } from "./toasts.tsx";

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    showToast({ tone: "done", text: texts.common.copied });
    return true;
  } catch {
    showToast({ tone: "problem", text: texts.common.notCopied });
    return false;
  }
}
