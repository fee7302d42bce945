/** A difference as two columns, old and new, in words and signs as well as in colour. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Value } from "../ui/value.tsx";
import type { Difference } from "./difference.ts";

export function Differences({ list }: { list: readonly Difference[] }): ReactNode {
  if (list.length === 0) return <p className="muted">{texts.history.noDifference}</p>;
  return (
    <dl className="differences">
      {list.map(({ path, before, after }) => (
        <div key={path} className="difference">
          <dt>{texts.fields[path] ?? path}</dt>
          <dd>
            {before !== undefined && (
              <del>
                <span className="visually-hidden">{texts.history.before}</span>
                <Value value={before} length={160} />
              </del>
            )}
            {before !== undefined && after !== undefined && <span aria-hidden="true">→</span>}
            {after !== undefined && (
              <ins>
                <span className="visually-hidden">{texts.history.after}</span>
                <Value value={after} length={160} />
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
