/** The page, which renders the same on the server and in the browser. */
import type { FlagsBootstrap } from "@halyard/flags/client";
import { FeatureFlagsProvider } from "@halyard/flags/react";
import { AccountBar } from "./account.tsx";
import { authClient } from "./client.ts";
import { FlagTable } from "./flag-table.tsx";
import type { StockLevels } from "./messages.ts";
import { Shop } from "./shop.tsx";
import { Switches } from "./switches.tsx";
import { useAccount, type Viewer } from "./viewer.ts";

export interface PageProps {
  readonly bootstrap: FlagsBootstrap | undefined;
  readonly viewer: Viewer | undefined;
  readonly stock: StockLevels;
}

export function Page({ bootstrap, viewer: rendered, stock }: PageProps) {
  const account = useAccount(rendered);
  const active = account.viewer?.active;
  return (
    <FeatureFlagsProvider client={authClient} bootstrap={bootstrap} live>
      <header>
        <h1>The Chandlery</h1>
        <AccountBar account={account} />
      </header>
      <main>
        <Shop stock={stock} />
        <FlagTable />
        {active !== undefined && <Switches key={active} organizationId={active} />}
      </main>
    </FeatureFlagsProvider>
  );
}
