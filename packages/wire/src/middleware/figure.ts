/** A figure that is read when somebody asks for it. */

export interface Figure {
  /** As OpenTelemetry calls it; for Prometheus with `_` in place of `.` and, for a counter, `_total` at the end. */
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter";
  read(): readonly Sample[];
}

export interface Sample {
  /** Appended to the name, as in `_bucket`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}
