/** A metric whose value is read on demand. */

export interface Figure {
  /** The OpenTelemetry name. Prometheus uses `_` in place of `.`, and `_total` at the end of a counter. */
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter";
  read(): readonly Sample[];
}

export interface Sample {
  /** Appended to the name, such as `_bucket`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}
