/** Short messages about what happened, with at most one action such as Undo. The shell shows them above the bar. */
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { texts } from "../texts.ts";
import { Button, IconButton } from "./button.tsx";

export interface Toast {
  readonly id: number;
  readonly tone: "done" | "problem";
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const SHOWN_MS = 10_000;
const MOST = 4;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

export function showToast(toast: Omit<Toast, "id">): void {
  lastId += 1;
  change([...toasts, { ...toast, id: lastId }].slice(-MOST));
}

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <section className="toasts stack" aria-label={texts.toasts.label} aria-live="polite">
      {shown.map((toast) => (
        <ToastCard key={toast.id} {...toast} />
      ))}
    </section>
  );
}

function ToastCard({ id, tone, text, action }: Toast): ReactNode {
  useEffect(() => {
    // A problem stays until it is dismissed.
    if (tone === "problem") return;
    const timer = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, tone]);
  return (
    <div className="toast row">
      {tone === "done" ? (
        <CircleCheck aria-hidden size={16} className="good" />
      ) : (
        <CircleAlert aria-hidden size={16} className="bad" />
      )}
      <span>{text}</span>
      {action && (
        <Button
          tone="quiet"
          small
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton label={texts.common.dismiss} onClick={() => dismiss(id)}>
        <X aria-hidden size={16} />
      </IconButton>
    </div>
  );
}

function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
