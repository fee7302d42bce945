/** One entry of a timeline: a mark, a sentence, and below it what it changed; at the end the time and what can be done. */
import type { ReactNode } from "react";
import { Row, Stack } from "./layout.tsx";

interface TimelineEntryProps {
  readonly mark: ReactNode;
  readonly sentence: ReactNode;
  readonly time: ReactNode;
  readonly action?: ReactNode;
  readonly children?: ReactNode;
}

export function TimelineEntry({ mark, sentence, time, action, children }: TimelineEntryProps): ReactNode {
  return (
    <li className="entry">
      <Row align="start" gap={12}>
        {mark}
        <Stack gap={4} grow>
          <p className="wrap-anywhere">{sentence}</p>
          {children}
        </Stack>
        <span className="muted caption number">{time}</span>
        {action}
      </Row>
    </li>
  );
}
