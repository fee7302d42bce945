/** The signed-in person: theme, shortcuts, sign-out. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ChevronsUpDown, Keyboard, LogOut, Monitor, Moon, Sun } from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { type ReactNode, useState } from "react";
import { signOut } from "../api/sign-in.ts";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { messageOf } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { useSession } from "./session.tsx";
import { chooseTheme, readTheme, type Theme } from "./theme.ts";

const THEMES: readonly (readonly [Theme, typeof Sun])[] = [
  ["system", Monitor],
  ["light", Sun],
  ["dark", Moon],
];

export function AccountMenu({ openHelp }: { openHelp: () => void }): ReactNode {
  const { user } = useSession();
  const [theme, setTheme] = useState(readTheme);
  const client = useQueryClient();
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      client.clear();
      location.reload();
    },
    onError: (error) => showToast({ tone: "problem", text: messageOf(error) }),
  });
  return (
    <Menu.Root>
      <Menu.Trigger className="account">
        <Avatar name={user.name} />
        <span className="account-name">
          <span>{user.name}</span>
          <span className="muted">{user.email}</span>
        </span>
        <ChevronsUpDown aria-hidden size={16} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className="menu" align="start" side="top" sideOffset={6}>
          <Menu.Label className="menu-label">{texts.shell.theme}</Menu.Label>
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
                className="menu-item"
                onSelect={(event) => event.preventDefault()}
              >
                <Icon aria-hidden size={16} />
                {texts.shell.themes[name]}
                <Menu.ItemIndicator className="menu-check">✓</Menu.ItemIndicator>
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
          <Menu.Separator className="menu-line" />
          <Menu.Item className="menu-item" onSelect={openHelp}>
            <Keyboard aria-hidden size={16} />
            {texts.shortcuts.title}
          </Menu.Item>
          <Menu.Item className="menu-item" onSelect={() => leave.mutate()}>
            <LogOut aria-hidden size={16} />
            {texts.shell.signOut}
          </Menu.Item>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
