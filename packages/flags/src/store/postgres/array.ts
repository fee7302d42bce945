/** Builds array literals of PostgreSQL, which pass many values in one parameter. */

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** One column of the rows that a statement writes. */
export class PostgresArray {
  readonly #cells: string[] = [];
  /** Rows before the first value. Many columns stay empty. */
  #nullsAhead = 0;
  #lastText: string | undefined;
  #lastCell = "";

  /** Adds a cell without quotes: a number, a UUID, or another text without commas, braces, quotes and spaces. */
  add(cell: string | undefined): void {
    if (cell !== undefined) this.#cells.push(cell);
    else if (this.#cells.length === 0) this.#nullsAhead += 1;
    else this.#cells.push("NULL");
  }

  /** Adds a text. Keeps the last quoted text, because consecutive rows often have the same one. */
  addText(text: string | undefined): void {
    if (text !== undefined && text !== this.#lastText) {
      this.#lastText = text;
      this.#lastCell = SPECIAL.test(text) ? `"${text.replace(EACH_SPECIAL, "\\$&")}"` : `"${text}"`;
    }
    this.add(text === undefined ? undefined : this.#lastCell);
  }

  /** Null if the column is empty: `unnest` fills short columns with nulls. */
  literal(): string | null {
    if (this.#cells.length === 0) return null;
    return `{${"NULL,".repeat(this.#nullsAhead)}${this.#cells.join(",")}}`;
  }
}
