/** The screens that the navigation and the command palette list, each for people who may use it. */
import {
  Activity,
  Flag,
  HeartPulse,
  History,
  KeyRound,
  type LucideIcon,
  Shapes,
  Split,
  Users,
} from "lucide-react";
import type { FlagAction } from "../api/types.ts";
import { texts } from "../texts.ts";
import { useMay } from "./session.tsx";
import type { DESTINATIONS } from "./shortcuts.ts";

export interface Screen {
  readonly to: (typeof DESTINATIONS)[keyof typeof DESTINATIONS];
  readonly label: string;
  readonly icon: LucideIcon;
  /** Another address that belongs to it. */
  readonly also?: "/flag/$key" | "/audit";
  /** What the screen needs. Default: nothing. */
  readonly action?: FlagAction;
}

export interface ScreenGroup {
  /** Empty for the first group. */
  readonly name: string;
  readonly list: readonly Screen[];
}

const GROUPS: readonly ScreenGroup[] = [
  {
    name: "",
    list: [
      { to: "/", label: texts.nav.flags, icon: Flag, also: "/flag/$key" },
      { to: "/segments", label: texts.nav.segments, icon: Shapes },
      { to: "/people", label: texts.nav.people, icon: Users, action: "evaluate-as" },
      { to: "/explain", label: texts.nav.explain, icon: Split },
    ],
  },
  {
    name: texts.nav.watch,
    list: [
      { to: "/activity", label: texts.nav.activity, icon: Activity },
      { to: "/history", label: texts.nav.history, icon: History, also: "/audit", action: "audit" },
    ],
  },
  {
    name: texts.nav.setUp,
    list: [
      { to: "/keys", label: texts.nav.keys, icon: KeyRound, action: "keys" },
      { to: "/health", label: texts.nav.health, icon: HeartPulse },
    ],
  },
];

/** The screens of the signed-in person, in groups. */
export function useScreens(): readonly ScreenGroup[] {
  const may = useMay();
  return GROUPS.map(({ name, list }) => ({
    name,
    list: list.filter(({ action }) => action === undefined || may(action)),
  }));
}
