/** A switch that is on or off. Its label names the flag and the environment. */
import { Switch as Radix } from "radix-ui";
import type { ReactNode } from "react";

interface SwitchProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly label: string;
  readonly disabled?: boolean;
}

export function Switch({ checked, onChange, label, disabled = false }: SwitchProps): ReactNode {
  return (
    <Radix.Root
      className="switch"
      checked={checked}
      onCheckedChange={onChange}
      aria-label={label}
      disabled={disabled}
    >
      <Radix.Thumb className="switch-thumb" />
    </Radix.Root>
  );
}
