/** The button that removes a condition. */
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";

export function RemoveCondition({ onRemove }: { onRemove: () => void }): ReactNode {
  return (
    <button type="button" className="icon-button" aria-label={texts.rules.removeCondition} onClick={onRemove}>
      <Trash2 aria-hidden size={15} />
    </button>
  );
}
