/** A switch that is on or off. Its label names the flag and the environment. */
import type { ReactNode } from "react";
import { classes } from "./layout.tsx";

interface SwitchProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly label: string;
  /** Read only, or held by code. */
  readonly disabled?: boolean;
  readonly busy?: boolean;
  readonly large?: boolean;
  /** Why it cannot be pressed. */
  readonly title?: string;
}

export function Switch(props: SwitchProps): ReactNode {
  const { checked, onChange, label, disabled = false, busy = false, large = false, title } = props;
  return (
    <button
      type="button"
      role="switch"
      className={classes("switch", large && "switch-large")}
      aria-checked={checked}
      aria-label={label}
      aria-busy={busy}
      title={title}
      disabled={disabled}
      onClick={() => !busy && onChange(!checked)}
    />
  );
}
