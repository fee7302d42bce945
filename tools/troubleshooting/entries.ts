/** What a troubleshooting page says about a code, a log line or a close code. */

export interface Remedy {
  /** Why it happens. */
  readonly why: string;
  /** What to do about it. */
  readonly todo: string;
}

export interface LogEntry extends Remedy {
  /** The line as the source has it, or its beginning, with `…` for values. */
  readonly text: string;
}

/** The codes, close codes and lines of one package. */
export interface Catalogue {
  /** Path of the page. */
  readonly page: string;
  readonly title: string;
  /** What the page is for, in two sentences. */
  readonly opening: string;
  /** Where its log lines come from, such as `packages/wire/src/`. */
  readonly sources: readonly string[];
  /** Codes in the order of the source's table, with facts from it. */
  readonly codes: readonly { readonly code: string; readonly facts: string; readonly remedy: Remedy }[];
  /** Numbers with a meaning of their own, such as close codes. */
  readonly more: readonly {
    readonly heading: string;
    readonly opening: string;
    readonly items: readonly { readonly name: string; readonly remedy: Remedy }[];
  }[];
  readonly logs: readonly LogEntry[];
  /** Texts in the source that are only a part of a log line. */
  readonly parts: readonly string[];
  /** Links at the end. */
  readonly related: string;
}
