/** The frame of every screen: sign-in, navigation, palette, shortcuts, messages. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Outlet, rootRouteId } from "@tanstack/react-router";
import { Fragment, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { chooseOrganization, currentOrganization } from "../api/organization.ts";
import { sessionQuery } from "../api/queries.ts";
import { useDraftGuard } from "../flag/use-draft.ts";
import { SignInDialog, SignInScreen } from "../sign-in/sign-in.tsx";
import { texts } from "../texts.ts";
import { BarSlot } from "../ui/layout.tsx";
import { Failure, Loading, LoadingPage } from "../ui/states.tsx";
import { Toasts } from "../ui/toasts.tsx";
import { ConnectionNotice } from "./connection-notice.tsx";
import { ImpersonationNotice } from "./impersonation-notice.tsx";
import { Navigation } from "./navigation.tsx";
import { NoPermission } from "./no-permission.tsx";
import { useOrganizationInAddress } from "./organization-switcher.tsx";
import { SessionProvider, type SignedIn } from "./session.tsx";
import { ShortcutHelp } from "./shortcut-help.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { useLiveChanges } from "./use-live-changes.ts";

const CommandPalette = lazy(() =>
  import("./command-palette.tsx").then(({ CommandPalette: palette }) => ({ default: palette })),
);

const route = getRouteApi(rootRouteId);

export function Shell(): ReactNode {
  const { data: session, error, refetch, isPending } = useQuery(sessionQuery);
  const { org } = route.useSearch();
  const known = useRef<SignedIn>(undefined);
  const first = known.current?.user.id;
  const isOther = first !== undefined && (session?.user?.id ?? first) !== first;
  if (isOther) return <OtherPerson />;
  if (session?.user !== undefined) known.current = { ...session, user: session.user };
  if (known.current !== undefined) chooseOrganization(known.current, org);
  if (isPending) {
    return (
      <main className="center">
        <Loading rows={3} />
      </main>
    );
  }
  // The screen stays while a session expires, so that nothing typed is lost.
  if (known.current === undefined) {
    if (error !== null || session === undefined) {
      return (
        <main className="center">
          <Failure error={error} retry={() => void refetch()} />
        </main>
      );
    }
    return <SignInScreen session={session} />;
  }
  const { actions, organizations } = known.current;
  if (actions.length === 0 && organizations.length === 0) return <NoPermission user={known.current.user} />;
  const isExpired = session !== undefined && session.user === undefined;
  return (
    <SessionProvider session={known.current}>
      <Frame org={org} />
      {isExpired && <SignInDialog session={session} email={known.current.user.email} />}
    </SessionProvider>
  );
}

/** Another person has signed in with this browser: nothing of the first one stays on the screen. */
function OtherPerson(): ReactNode {
  useEffect(() => location.reload(), []);
  return (
    <main className="center">
      <Loading rows={3} />
    </main>
  );
}

function Frame({ org }: { org: string | undefined }): ReactNode {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [bar, setBar] = useState<HTMLElement | null>(null);
  const main = useRef<HTMLElement>(null);
  useOrganizationInAddress(org);
  useShortcuts({ openPalette: () => setPaletteOpen(true), openHelp: () => setHelpOpen(true) });
  useLiveChanges();
  useDraftGuard();
  useEffect(() => {
    document.title = texts.product;
  }, []);
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        {texts.shell.skip}
      </button>
      <Navigation openPalette={() => setPaletteOpen(true)} openHelp={() => setHelpOpen(true)} />
      <main className="sheet stack gap-0" id="main" tabIndex={-1} ref={main}>
        <ConnectionNotice />
        <ImpersonationNotice />
        <BarSlot value={bar}>
          <Suspense fallback={<LoadingPage />}>
            {/* Every screen starts again with the data of the chosen organization. */}
            <Fragment key={currentOrganization()}>
              <Outlet />
            </Fragment>
          </Suspense>
        </BarSlot>
        <div className="dock">
          <Toasts />
          <div className="dock-bar" ref={setBar} />
        </div>
      </main>
      {isPaletteOpen && (
        <Suspense fallback={null}>
          <CommandPalette close={() => setPaletteOpen(false)} openHelp={() => setHelpOpen(true)} />
        </Suspense>
      )}
      <ShortcutHelp open={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </div>
  );
}
