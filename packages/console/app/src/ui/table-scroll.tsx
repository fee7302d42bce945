/** A wide table scrolls by itself, also by keyboard. */
import type { ReactNode } from "react";

interface TableScrollProps {
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}

export function TableScroll({ label, className = "", children }: TableScrollProps): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box needs a tab stop
    <section className={`table-scroll ${className}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
