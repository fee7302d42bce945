/** The signed-in person: theme, shortcuts, sign-out. */
import { Check, Ellipsis, Keyboard, LogOut, Monitor, Moon, Sun } from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { type ReactNode, useState } from "react";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { useSession } from "./session.tsx";
import { useSignOut } from "./sign-out.ts";
import { chooseTheme, readTheme, type Theme } from "./theme.ts";

const THEMES: readonly (readonly [Theme, typeof Sun])[] = [
  ["system", Monitor],
  ["light", Sun],
  ["dark", Moon],
];

export function AccountMenu({ openHelp }: { openHelp: () => void }): ReactNode {
  const { user } = useSession();
  const [theme, setTheme] = useState(readTheme);
  const leave = useSignOut();
  return (
    <Menu.Root>
      <Menu.Trigger className="account row">
        <Avatar name={user.name} />
        <span className="grow">
          <span className="name cut block">{user.name}</span>
          <span className="muted caption cut block">{user.email}</span>
        </span>
        <Ellipsis aria-hidden size={16} className="muted" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className="menu" align="start" side="top" sideOffset={6}>
          <Menu.Label className="menu-label muted caption">{texts.shell.theme}</Menu.Label>
          <Menu.RadioGroup
            value={theme}
            onValueChange={(chosen) => {
              const next = chosen as Theme;
              setTheme(next);
              chooseTheme(next);
            }}
          >
            {THEMES.map(([name, Icon]) => (
              <Menu.RadioItem
                key={name}
                value={name}
                className="option"
                onSelect={(event) => event.preventDefault()}
              >
                <Icon aria-hidden size={16} />
                {texts.shell.themes[name]}
                <Menu.ItemIndicator>
                  <Check aria-hidden size={14} />
                </Menu.ItemIndicator>
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
          <Menu.Separator className="menu-line" />
          <Menu.Item className="option" onSelect={openHelp}>
            <Keyboard aria-hidden size={16} />
            {texts.shortcuts.title}
          </Menu.Item>
          <Menu.Item className="option" onSelect={() => leave.mutate()}>
            <LogOut aria-hidden size={16} />
            {texts.shell.signOut}
          </Menu.Item>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
