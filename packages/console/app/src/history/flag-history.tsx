/** The changes of one flag. */
import type { ReactNode } from "react";
import type { Flag } from "../api/types.ts";
import { EntryTimeline } from "./history-screen.tsx";

export function FlagHistory({ flag }: { flag: Flag }): ReactNode {
  return <EntryTimeline filters={{ flagId: flag.id }} showsFlag={false} />;
}
