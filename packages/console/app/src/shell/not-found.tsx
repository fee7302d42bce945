/** What an unknown address and a screen that failed show. */
import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { buttonClass } from "../ui/button.tsx";
import { Page } from "../ui/layout.tsx";
import { Empty, Failure } from "../ui/states.tsx";

export function NotFound(): ReactNode {
  return (
    <Page title={texts.errors.noScreen}>
      <Empty title={texts.errors.noScreenHint} icon={<Compass aria-hidden size={20} />}>
        <Link to="/" className={buttonClass("primary")}>
          {texts.errors.toFlags}
        </Link>
      </Empty>
    </Page>
  );
}

export function ScreenFailure({ error, reset }: { error: unknown; reset: () => void }): ReactNode {
  return <Failure error={error} retry={reset} />;
}
