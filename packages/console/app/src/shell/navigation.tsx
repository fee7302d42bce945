/** The navigation: beside the screen, or behind a button where the window is narrow. */
import { Link, useMatchRoute } from "@tanstack/react-router";
import { MenuIcon, Search } from "lucide-react";
import { type ReactNode, useState } from "react";
import { texts } from "../texts.ts";
import { IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { classes, Stack } from "../ui/layout.tsx";
import { Mark } from "../ui/mark.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { OrganizationSwitcher } from "./organization-switcher.tsx";
import { type Screen, useScreens } from "./screens.ts";

interface NavigationProps {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

export function Navigation({ openPalette, openHelp }: NavigationProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <header className="top-bar phone-only row between">
        <IconButton label={texts.shell.openMenu} onClick={() => setOpen(true)}>
          <MenuIcon aria-hidden size={20} />
        </IconButton>
        <Brand />
        <IconButton label={texts.shell.search} onClick={openPalette}>
          <Search aria-hidden size={20} />
        </IconButton>
      </header>
      <aside className="side wide-only stack gap-12">
        <Brand />
        <Contents openPalette={openPalette} openHelp={openHelp} />
      </aside>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title={texts.product} size="side">
        <Stack gap={12}>
          <Contents openPalette={openPalette} openHelp={openHelp} onChoose={() => setOpen(false)} />
        </Stack>
      </Dialog>
    </>
  );
}

function Brand(): ReactNode {
  return (
    <Link to="/" className="brand row name">
      <Mark />
      {texts.product}
    </Link>
  );
}

function Contents({
  openPalette,
  openHelp,
  onChoose,
}: NavigationProps & { onChoose?: () => void }): ReactNode {
  const screens = useScreens();
  return (
    <>
      <OrganizationSwitcher />
      <button
        type="button"
        className="palette-button row"
        onClick={() => {
          onChoose?.();
          openPalette();
        }}
      >
        <Search aria-hidden size={15} />
        <span className="grow">{texts.shell.search}</span>
        <kbd>{texts.shell.paletteKeys}</kbd>
      </button>
      <nav aria-label={texts.shell.navigation}>
        {screens.map(({ name, list }) => (
          <div key={name}>
            {name !== "" && <h2 className="nav-title muted caption">{name}</h2>}
            <ul>
              {list.map((screen) => (
                <Item key={screen.to} screen={screen} onChoose={onChoose} />
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <AccountMenu openHelp={openHelp} />
    </>
  );
}

function Item({ screen, onChoose }: { screen: Screen; onChoose: (() => void) | undefined }): ReactNode {
  const { to, label, icon: Icon, also } = screen;
  const matchRoute = useMatchRoute();
  const isAlso = also !== undefined && matchRoute({ to: also, includeSearch: false }) !== false;
  return (
    <li>
      <Link
        to={to}
        className={classes("nav-link row name", isAlso && "nav-link-active")}
        {...(isAlso && { "aria-current": "true" })}
        activeOptions={{ exact: to === "/", includeSearch: false }}
        activeProps={{ className: "nav-link-active" }}
        {...(onChoose && { onClick: onChoose })}
      >
        <Icon aria-hidden size={16} />
        {label}
      </Link>
    </li>
  );
}
