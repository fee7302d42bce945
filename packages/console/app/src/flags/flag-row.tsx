/** One flag of the list: switch, name, who gets it, other environments, use and last change. */
import { Link } from "@tanstack/react-router";
import { memo, type ReactNode } from "react";
import type { Entry, Flag } from "../api/types.ts";
import { environmentsOf, titleOf } from "../flag/environments.ts";
import { FlagSwitchButton } from "../flag/flag-switch.tsx";
import { useHasDraft } from "../flag/use-draft.ts";
import { ActorMark, actorName } from "../history/actor.tsx";
import { texts } from "../texts.ts";
import { classes, Row, Stack } from "../ui/layout.tsx";
import { Share } from "../ui/share.tsx";
import { Time } from "../ui/time.tsx";
import { isUnused } from "./attention.tsx";
import { deliveryOf } from "./delivery.ts";
import { Sparkline } from "./sparkline.tsx";

/** Lines of a row. */
const MOST_ELSEWHERE = 2;

interface FlagRowProps {
  readonly flag: Flag;
  /** Whose settings are shown. */
  readonly environment: string | undefined;
  /** Whether the list has a column for the other environments. */
  readonly hasElsewhere: boolean;
  /** The newest entry of the log, where it is known. */
  readonly lastEntry: Entry | undefined;
  readonly index: number;
  readonly offset: number;
  readonly measure: (element: Element | null) => void;
  /** The switch was pressed. */
  readonly onSwitch: (flag: Flag) => void;
}

/**
 * Roles are explicit, because the row is placed by the virtual list. While the list scrolls, only the rows that come into
 * view are rendered.
 */
export const FlagRow = memo(function FlagRow(props: FlagRowProps): ReactNode {
  const { flag, environment, hasElsewhere, lastEntry, index, offset, measure, onSwitch } = props;
  const { enabled, text, shares } = deliveryOf(flag, environment);
  const hasDraft = useHasDraft(flag.id);
  const hasVariants = (flag.variants?.length ?? 0) > 1;
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the table
    // biome-ignore lint/a11y/useFocusableInteractive: a row is not a control
    <div
      role="row"
      aria-rowindex={index + 2}
      className="flag-row row-with-link"
      data-index={index}
      ref={measure}
      style={{ transform: `translateY(${offset}px)` }}
    >
      <Cell name="switch">
        <FlagSwitchButton flag={flag} environment={environment} onPress={onSwitch} />
      </Cell>
      <Cell name="name">
        <Row>
          <Link to="/flag/$key" params={{ key: flag.key }} className="row-link cut">
            {flag.name}
          </Link>
          <span className="muted caption cut grow wide-only">{flag.key}</span>
          {hasDraft && <span className="tag tag-accent">{texts.draft.mark}</span>}
          {flag.visibility === "server" && (
            <span className="tag" title={texts.flag.serverOnlyHint}>
              {texts.flag.serverOnly}
            </span>
          )}
          {isUnused(flag) && (
            <span className="tag tag-warn" title={texts.flags.staleHint}>
              {texts.flags.stale}
            </span>
          )}
        </Row>
      </Cell>
      <Cell name="delivery">
        <Stack gap={4}>
          <span className={classes("cut", !enabled && "muted")}>{text}</span>
          <Share parts={shares} {...(!hasVariants && { colour: "0" })} />
        </Stack>
      </Cell>
      {hasElsewhere && (
        <Cell name="elsewhere">
          <Elsewhere flag={flag} environment={environment} />
        </Cell>
      )}
      <Cell name="use">
        <Row gap={12} between>
          <Sparkline flagId={flag.id} isUsed={(flag.stats?.evaluations ?? 0) > 0} />
          <span className="number" title={texts.flags.uniqueUsers(flag.stats?.uniqueUsers ?? 0)}>
            {texts.number(flag.stats?.evaluations ?? 0)}
          </span>
        </Row>
      </Cell>
      <Cell name="changed">
        <Row>
          {lastEntry && (
            <span title={actorName(lastEntry)}>
              <ActorMark entry={lastEntry} />
              <span className="visually-hidden">{actorName(lastEntry)}</span>
            </span>
          )}
          <span className="muted caption">
            <Time at={lastEntry?.at ?? flag.updatedAt} short />
          </span>
        </Row>
      </Cell>
    </div>
  );
});

function Cell({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the table
    <div role="cell" className={`cell-${name}`}>
      {children}
    </div>
  );
}

function Elsewhere({ flag, environment }: { flag: Flag; environment: string | undefined }): ReactNode {
  const others = environmentsOf(flag).filter(({ name }) => name !== environment);
  return (
    <ul className="caption soft">
      {others.slice(0, MOST_ELSEWHERE).map(({ name, enabled, rolloutPercentage }, place) => (
        <li key={name} className="row gap-4">
          <span className={enabled ? "dot dot-on" : "dot"} aria-hidden="true" />
          <span className="cut">
            {titleOf(name)}{" "}
            {!enabled
              ? texts.flags.off
              : rolloutPercentage === undefined
                ? ""
                : texts.percent(rolloutPercentage)}
          </span>
          {place === MOST_ELSEWHERE - 1 && others.length > MOST_ELSEWHERE && (
            <span className="muted fixed">+{texts.number(others.length - MOST_ELSEWHERE)}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
