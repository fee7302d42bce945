/** Short messages about what happened, with at most one action such as Undo. Screen readers announce them. */
import { X } from "lucide-react";
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { texts } from "../texts.ts";

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
    <section className="toasts" aria-label={texts.toasts.label} aria-live="polite">
      {shown.map((toast) => (
        <ToastCard key={toast.id} {...toast} />
      ))}
    </section>
  );
}

function ToastCard({ id, tone, text, action }: Toast): ReactNode {
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  return (
    <div className={`toast toast-${tone}`}>
      <span>{text}</span>
      {action && (
        <button
          type="button"
          className="button button-quiet"
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      <button
        type="button"
        className="icon-button"
        aria-label={texts.common.dismiss}
        onClick={() => dismiss(id)}
      >
        <X aria-hidden size={16} />
      </button>
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
