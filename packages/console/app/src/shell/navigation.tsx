/** The navigation: beside the screen, or behind a button where the window is narrow. */
import { Link } from "@tanstack/react-router";
import { Menu, Search } from "lucide-react";
import { type ReactNode, useState } from "react";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
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
      <header className="top-bar">
        <button
          type="button"
          className="icon-button"
          aria-label={texts.shell.openMenu}
          onClick={() => setOpen(true)}
        >
          <Menu aria-hidden size={20} />
        </button>
        <Brand />
        <button type="button" className="icon-button" aria-label={texts.shell.search} onClick={openPalette}>
          <Search aria-hidden size={20} />
        </button>
      </header>
      <aside className="side">
        <Brand />
        <Contents openPalette={openPalette} openHelp={openHelp} />
      </aside>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title={texts.product} size="side">
        <Contents openPalette={openPalette} openHelp={openHelp} onChoose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Brand(): ReactNode {
  return (
    <Link to="/" className="brand">
      <Mark />
      <span>{texts.product}</span>
    </Link>
  );
}

export function Mark(): ReactNode {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" className="mark-ground" />
      <path d="M9.500 6.500v19" className="mark-pole" />
      <path d="M11 8h13l-4 4.500 4 4.500H11z" className="mark-flag" />
    </svg>
  );
}

function Contents({
  openPalette,
  openHelp,
  onChoose,
}: NavigationProps & { onChoose?: () => void }): ReactNode {
  const screens = useScreens();
  const choose = (): void => onChoose?.();
  return (
    <div className="side-contents">
      <OrganizationSwitcher />
      <button
        type="button"
        className="palette-button"
        onClick={() => {
          choose();
          openPalette();
        }}
      >
        <Search aria-hidden size={16} />
        <span>{texts.shell.search}</span>
        <kbd>{texts.shell.paletteKeys}</kbd>
      </button>
      <nav aria-label={texts.shell.navigation}>
        {screens.map((group) => (
          <ul key={group[0]?.to} className="nav">
            {group.map((screen) => (
              <Item key={screen.to} screen={screen} onChoose={choose} />
            ))}
          </ul>
        ))}
      </nav>
      <AccountMenu openHelp={openHelp} />
    </div>
  );
}

function Item({ screen, onChoose }: { screen: Screen; onChoose: () => void }): ReactNode {
  const { to, label, icon: Icon } = screen;
  return (
    <li>
      <Link
        to={to}
        className="nav-link"
        activeOptions={{ exact: to === "/", includeSearch: false }}
        activeProps={{ className: "nav-link-active" }}
        onClick={onChoose}
      >
        <Icon aria-hidden size={17} />
        <span>{label}</span>
      </Link>
    </li>
  );
}
