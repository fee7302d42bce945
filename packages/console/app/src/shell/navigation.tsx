/** The navigation: beside the screen, or behind a button where the window is narrow. */
import { Link } from "@tanstack/react-router";
import {
  Activity,
  Flag,
  HeartPulse,
  History,
  KeyRound,
  Menu,
  ScrollText,
  Search,
  Shapes,
  Split,
  Users,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { OrganizationSwitcher } from "./organization-switcher.tsx";
import { useMay } from "./session.tsx";

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
  const may = useMay();
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
        <ul className="nav">
          <Item to="/" icon={<Flag aria-hidden size={17} />} label={texts.nav.flags} onChoose={choose} />
          <Item
            to="/segments"
            icon={<Shapes aria-hidden size={17} />}
            label={texts.nav.segments}
            onChoose={choose}
          />
          <Item
            to="/people"
            icon={<Users aria-hidden size={17} />}
            label={texts.nav.people}
            onChoose={choose}
          />
          <Item
            to="/explain"
            icon={<Split aria-hidden size={17} />}
            label={texts.nav.explain}
            onChoose={choose}
          />
        </ul>
        <ul className="nav">
          <Item
            to="/activity"
            icon={<Activity aria-hidden size={17} />}
            label={texts.nav.activity}
            onChoose={choose}
          />
          {may("audit") && (
            <>
              <Item
                to="/history"
                icon={<History aria-hidden size={17} />}
                label={texts.nav.history}
                onChoose={choose}
              />
              <Item
                to="/audit"
                icon={<ScrollText aria-hidden size={17} />}
                label={texts.nav.audit}
                onChoose={choose}
              />
            </>
          )}
        </ul>
        <ul className="nav">
          {may("keys") && (
            <Item
              to="/keys"
              icon={<KeyRound aria-hidden size={17} />}
              label={texts.nav.keys}
              onChoose={choose}
            />
          )}
          <Item
            to="/health"
            icon={<HeartPulse aria-hidden size={17} />}
            label={texts.nav.health}
            onChoose={choose}
          />
        </ul>
      </nav>
      <AccountMenu openHelp={openHelp} />
    </div>
  );
}

type Destination =
  | "/"
  | "/segments"
  | "/people"
  | "/explain"
  | "/activity"
  | "/history"
  | "/audit"
  | "/keys"
  | "/health";

interface ItemProps {
  readonly to: Destination;
  readonly icon: ReactNode;
  readonly label: string;
  readonly onChoose: () => void;
}

function Item({ to, icon, label, onChoose }: ItemProps): ReactNode {
  return (
    <li>
      <Link
        to={to}
        className="nav-link"
        activeOptions={{ exact: to === "/", includeSearch: false }}
        activeProps={{ className: "nav-link-active" }}
        onClick={onChoose}
      >
        {icon}
        <span>{label}</span>
      </Link>
    </li>
  );
}
