/** The rows of the list. Only those in view exist, so that 10,000 flags scroll like ten. */
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import {
  type ReactNode,
  startTransition,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { Flag } from "../api/types.ts";
import { titleOf } from "../flag/environments.ts";
import { FlagSwitchDialogs } from "../flag/flag-switch.tsx";
import { texts } from "../texts.ts";
import { usePhone } from "../ui/use-phone.ts";
import { FlagRow } from "./flag-row.tsx";
import { useLastEntries } from "./last-actors.ts";

const ROW_PX = 47;
const CARD_PX = 112;
const CARD_GAP_PX = 8;
/** The next page is requested this many rows before the end. */
const AHEAD = 30;

interface FlagTableProps {
  readonly flags: readonly Flag[];
  /** Whose settings are shown. */
  readonly environment: string | undefined;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly loadMore: () => void;
}

export function FlagTable(props: FlagTableProps): ReactNode {
  const { flags, environment, hasMore, isLoadingMore, loadMore } = props;
  const isPhone = usePhone();
  const hasElsewhere = flags.some(({ environments = {} }) =>
    Object.keys(environments).some((name) => name !== environment),
  );
  const columns = `list columns-${hasElsewhere ? "flags" : "flags-alone"}`;
  const titles = texts.flags.columns;
  const body = useRef<HTMLDivElement>(null);
  const lastEntries = useLastEntries();
  const [pressed, setPressed] = useState<Flag>();
  // The dialog is rendered in pieces, between which the page stays responsive.
  const press = useCallback((flag: Flag) => startTransition(() => setPressed(flag)), []);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(body.current?.offsetTop ?? 0), []);
  const rows = useWindowVirtualizer({
    count: flags.length,
    estimateSize: () => (isPhone ? CARD_PX : ROW_PX),
    gap: isPhone ? CARD_GAP_PX : 0,
    overscan: 6,
    scrollMargin: top,
    // Rows may be rendered after the event, so that a scroll never waits for them.
    useFlushSync: false,
    // With another function, the positions of all rows are computed again.
    getItemKey: useCallback((index: number) => flags[index]?.id ?? index, [flags]),
  });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= flags.length - AHEAD) loadMore();
  }, [hasMore, isLoadingMore, last, flags.length, loadMore]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a virtual list are placed one by one, which a table element forbids
    <div role="table" aria-label={texts.flags.title} aria-rowcount={hasMore ? -1 : flags.length + 1}>
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div role="rowgroup" className={`${columns} wide-only`}>
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: a row is not a control */}
        <div role="row" className="flag-head muted caption">
          {[
            titles.state,
            titles.name,
            titles.delivery(environment && titleOf(environment)),
            ...(hasElsewhere ? [titles.environments] : []),
            titles.use,
            titles.changed,
          ].map((column) => (
            // biome-ignore lint/a11y/useSemanticElements: as above
            // biome-ignore lint/a11y/useFocusableInteractive: as above
            <span role="columnheader" key={column}>
              {column}
            </span>
          ))}
        </div>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div
        role="rowgroup"
        ref={body}
        className={`${columns} list-cards flag-body`}
        style={{ height: rows.getTotalSize() }}
      >
        {shown.map(({ index, key, start }) => {
          const flag = flags[index];
          return (
            flag && (
              <FlagRow
                key={key}
                flag={flag}
                environment={environment}
                hasElsewhere={hasElsewhere}
                lastEntry={lastEntries.get(flag.id)}
                index={index}
                measure={rows.measureElement}
                offset={start - rows.options.scrollMargin}
                onSwitch={press}
              />
            )
          );
        })}
      </div>
      <FlagSwitchDialogs
        // As it is now, or as it was if it is no longer in the list.
        environment={environment}
        flag={pressed && (flags.find(({ id }) => id === pressed.id) ?? pressed)}
        onClose={() => setPressed(undefined)}
      />
    </div>
  );
}
