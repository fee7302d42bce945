/** What an unknown address and a screen that failed show. */
import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Empty, Failure } from "../ui/states.tsx";

export function NotFound(): ReactNode {
  return (
    <Empty title={texts.errors.noScreen} icon={<Compass aria-hidden size={28} />}>
      <Link to="/" className="button">
        {texts.errors.toFlags}
      </Link>
    </Empty>
  );
}

export function ScreenFailure({ error, reset }: { error: unknown; reset: () => void }): ReactNode {
  return <Failure error={error} retry={reset} />;
}
