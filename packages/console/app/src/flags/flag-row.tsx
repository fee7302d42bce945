/** One flag of the list: switch, name, how it is delivered, environments, use and last change. */
import { Link } from "@tanstack/react-router";
import { Braces, Hash, ServerCog, TextCursorInput, ToggleRight } from "lucide-react";
import { memo, type ReactNode } from "react";
import type { Entry, Flag, FlagType } from "../api/types.ts";
import { environmentsOf, isProduction } from "../flag/environments.ts";
import { FlagSwitchButton } from "../flag/flag-switch.tsx";
import { ActorName } from "../history/actor.tsx";
import { texts } from "../texts.ts";
import { Time } from "../ui/time.tsx";
import { deliveryOf } from "./delivery.ts";
import { Sparkline } from "./sparkline.tsx";

interface FlagRowProps {
  readonly flag: Flag;
  /** The newest entry of the log, where it is known. */
  readonly lastEntry: Entry | undefined;
  readonly index: number;
  readonly offset: number;
  readonly measure: (element: Element | null) => void;
  /** The switch was pressed. */
  readonly onSwitch: (flag: Flag) => void;
}

const ICONS: Readonly<Record<FlagType, typeof Hash>> = {
  boolean: ToggleRight,
  string: TextCursorInput,
  number: Hash,
  json: Braces,
};

/**
 * Roles are explicit, because the row is placed by the virtual list. While the list scrolls, only the rows that come into
 * view are rendered.
 */
export const FlagRow = memo(function FlagRow(props: FlagRowProps): ReactNode {
  const { flag, lastEntry, index, offset, measure, onSwitch } = props;
  const environments = environmentsOf(flag);
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the table
    // biome-ignore lint/a11y/useFocusableInteractive: a row is not a control
    <div
      role="row"
      aria-rowindex={index + 2}
      className={flag.enabled ? "flag-row" : "flag-row flag-row-off"}
      data-index={index}
      ref={measure}
      style={{ transform: `translateY(${offset}px)` }}
    >
      <Cell name="switch">
        <FlagSwitchButton flag={flag} onPress={onSwitch} />
      </Cell>
      <Cell name="name">
        <Link to="/flag/$key" params={{ key: flag.key }} className="flag-name">
          {flag.name}
        </Link>
        <span className="flag-key">
          <TypeIcon type={flag.type} />
          <code>{flag.key}</code>
          {flag.visibility === "server" && (
            <span className="badge" title={texts.flag.serverOnlyHint}>
              <ServerCog aria-hidden size={12} /> {texts.flag.serverOnly}
            </span>
          )}
          {isStale(flag) && (
            <span className="badge badge-warning" title={texts.flags.staleHint}>
              {texts.flags.stale}
            </span>
          )}
        </span>
      </Cell>
      <Cell name="delivery">
        <Delivery flag={flag} />
      </Cell>
      <Cell name="environments">
        {environments.map(({ name, enabled, rolloutPercentage }) => (
          <span
            key={name}
            className={`environment${enabled ? " environment-on" : ""}${isProduction(name) ? " environment-production" : ""}`}
          >
            {name}
            <span className="environment-state">
              {enabled
                ? rolloutPercentage === undefined
                  ? texts.flags.on
                  : `${rolloutPercentage} %`
                : texts.flags.off}
            </span>
          </span>
        ))}
      </Cell>
      <Cell name="use">
        {flag.stats && flag.stats.evaluations > 0 ? (
          <>
            <span title={texts.flags.uniqueUsers(flag.stats.uniqueUsers)}>
              {texts.number(flag.stats.evaluations)}
            </span>
            <Sparkline flagId={flag.id} />
          </>
        ) : (
          <span className="muted">–</span>
        )}
      </Cell>
      <Cell name="changed">
        <Time at={lastEntry?.at ?? flag.updatedAt} />
        {lastEntry && (
          <span className="flag-actor">
            <ActorName entry={lastEntry} />
          </span>
        )}
      </Cell>
    </div>
  );
});

function Cell({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the table
    <div role="cell" className={`flag-cell flag-cell-${name}`}>
      {children}
    </div>
  );
}

function Delivery({ flag }: { flag: Flag }): ReactNode {
  const { percentage, text } = deliveryOf(flag);
  return (
    <div className="delivery">
      <span>{text}</span>
      {percentage !== undefined && (
        <svg className="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect width="100" height="4" className="share-ground" />
          <rect width={percentage} height="4" className="share-part" />
        </svg>
      )}
    </div>
  );
}

export function TypeIcon({ type }: { type: FlagType }): ReactNode {
  const Icon = ICONS[type];
  return (
    <span className="type-icon" title={texts.types[type]}>
      <Icon aria-hidden size={14} />
      <span className="visually-hidden">{texts.types[type]}</span>
    </span>
  );
}

const STALE_MS = 14 * 24 * 60 * 60 * 1000;

/** It was not evaluated in the last day, and not changed in two weeks. */
function isStale({ stats, updatedAt }: Flag): boolean {
  return stats?.evaluations === 0 && Date.now() - Date.parse(updatedAt) > STALE_MS;
}
