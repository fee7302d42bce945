/** The button that removes a condition. */
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { IconButton } from "../ui/button.tsx";

export function RemoveCondition({ onRemove }: { onRemove: () => void }): ReactNode {
  return (
    <IconButton label={texts.rules.removeCondition} onClick={onRemove}>
      <X aria-hidden size={15} />
    </IconButton>
  );
}
