/** A bar of shares, in percent of its width. */
import type { ReactNode } from "react";
import { classes } from "./layout.tsx";
import { keyed } from "./row-keys.ts";

interface ShareProps {
  readonly parts: readonly number[];
  /** The name of one colour for all parts. Default: each part has its own. */
  readonly colour?: string;
  readonly large?: boolean;
}

export function Share({ parts, colour, large = false }: ShareProps): ReactNode {
  return (
    <span className={classes("share", large && "share-large")} aria-hidden="true">
      {keyed(parts, String).map(([key, part], place) => (
        <span
          key={key}
          className={`colour-${colour ?? place % 6}`}
          style={{ flexGrow: part }}
          hidden={part <= 0}
        />
      ))}
      <span style={{ flexGrow: 100 - parts.reduce((sum, part) => sum + part, 0) }} />
    </span>
  );
}
