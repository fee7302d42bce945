/** The list of keyboard shortcuts. */
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { keyed } from "../ui/row-keys.ts";

export function ShortcutHelp({ open, onClose }: { open: boolean; onClose: () => void }): ReactNode {
  return (
    <Dialog open={open} onClose={onClose} title={texts.shortcuts.title}>
      <dl className="shortcuts stack">
        {texts.shortcuts.list.map(([keys, meaning]) => (
          <div key={meaning} className="row gap-16">
            <dt className="row gap-4">
              {keyed(keys.split(" "), String).map(([id, key]) => (
                <kbd key={id}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
