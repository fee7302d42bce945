/** Actions behind a button with three dots, or with a text. */
import { ChevronDown, Ellipsis } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { buttonClass } from "./button.tsx";

export interface MenuItem {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly onSelect: () => void;
  readonly isDangerous?: boolean;
}

export function Menu({
  label,
  text,
  items,
}: {
  /** Its name, which contains the text. */
  readonly label: string;
  readonly text?: string;
  readonly items: readonly MenuItem[];
}): ReactNode {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger
        className={text === undefined ? "icon-button" : buttonClass("plain", true)}
        aria-label={label}
      >
        {text}
        {text === undefined ? <Ellipsis aria-hidden size={16} /> : <ChevronDown aria-hidden size={14} />}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
          {items.map(({ label: name, icon, onSelect, isDangerous = false }) => (
            <DropdownMenu.Item
              key={name}
              className={isDangerous ? "option option-danger" : "option"}
              onSelect={onSelect}
            >
              {icon}
              <span>{name}</span>
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
