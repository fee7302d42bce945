/** The last look before a change: whom it concerns, in which environments, then the button. */
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { FeatureFlagPatch, Flag } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Impact, usePlan } from "./impact.tsx";
import type { FlagChange } from "./use-update-flag.ts";

interface ChangeDialogProps {
  readonly flag: Flag;
  /** Undefined: closed. */
  readonly fields: FeatureFlagPatch | undefined;
  readonly title: string;
  readonly confirm: string;
  readonly done: string;
  readonly isDangerous?: boolean;
  /** The change reaches production. */
  readonly isProduction?: boolean;
  readonly children?: ReactNode;
  readonly onClose: () => void;
  readonly onConfirm: (change: FlagChange) => void;
}

export function ChangeDialog(props: ChangeDialogProps): ReactNode {
  const { flag, fields, title, confirm, done, onClose, onConfirm, children } = props;
  const { isDangerous = false, isProduction = false } = props;
  const { data: plan, error } = usePlan(flag, fields);
  return (
    <Dialog open={fields !== undefined} onClose={onClose} title={title}>
      {isProduction && (
        <p className="production-note">
          <TriangleAlert aria-hidden size={16} /> {texts.impact.production}
        </p>
      )}
      {children}
      <Impact plan={plan} error={error} />
      <footer className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button
          type="button"
          className={isDangerous ? "button button-danger" : "button button-primary"}
          onClick={() => {
            if (fields === undefined) return;
            onConfirm({ flag, fields, done, planId: plan?.id });
            onClose();
          }}
        >
          {confirm}
        </button>
      </footer>
    </Dialog>
  );
}
