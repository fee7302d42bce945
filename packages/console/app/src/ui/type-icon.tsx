/** The type of a flag as a small picture. */
import { Braces, Hash, TextCursorInput, ToggleRight } from "lucide-react";
import type { ReactNode } from "react";
import type { FlagType } from "../api/types.ts";
import { texts } from "../texts.ts";

const ICONS: Readonly<Record<FlagType, typeof Hash>> = {
  boolean: ToggleRight,
  string: TextCursorInput,
  number: Hash,
  json: Braces,
};

export function TypeIcon({ type }: { readonly type: FlagType }): ReactNode {
  const Icon = ICONS[type];
  return (
    <span className="muted" title={texts.types[type]}>
      <Icon aria-hidden size={14} />
      <span className="visually-hidden">{texts.types[type]}</span>
    </span>
  );
}
