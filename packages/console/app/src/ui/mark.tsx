/** The sign of the console. */
import type { ReactNode } from "react";

export function Mark({ size = 22 }: { readonly size?: number }): ReactNode {
  return (
    <svg width={size} height={size} viewBox="0 0 28 28" aria-hidden="true">
      <rect width="28" height="28" rx="7" className="mark-ground" />
      <path d="M9 6v17" className="mark-pole" />
      <path d="M10 7h10l-2.6 4 2.6 4H10z" className="mark-flag" />
    </svg>
  );
}
