/** What the page reads from the server, as JSON. */
import type { Rates, RecordedFrame, TypeCount } from "./recorder.ts";
import type { ConnectionRow, Rows, TopicRow } from "./tap.ts";

export interface InspectorState {
  /** The oldest first. */
  readonly frames: readonly RecordedFrame[];
  /** Frames that are not kept any more. */
  readonly missed: number;
  /** The number of the newest frame. */
  readonly last: number;
  readonly connections: Rows<ConnectionRow>;
  readonly topics: Rows<TopicRow>;
  readonly types: readonly TypeCount[];
  readonly rates: Rates;
}
