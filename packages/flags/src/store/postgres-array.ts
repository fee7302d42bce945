/** Arrays as PostgreSQL reads them: many values in one parameter, such as a column of the rows that a statement writes. */

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** A column's cells in the order of the rows. Cells that need no quotes are added as they are. */
export class PostgresArray {
  readonly #cells: string[] = [];
  /** Rows before the first value: most columns have none, and are never filled. */
  #nullsAhead = 0;
  #lastText: string | undefined;
  #lastCell = "";

  /** A number, a UUID, or anything else without quotes, commas, braces and spaces. */
  add(cell: string | undefined): void {
    if (cell !== undefined) this.#cells.push(cell);
    else if (this.#cells.length === 0) this.#nullsAhead += 1;
    else this.#cells.push("NULL");
  }

  /** Rows that follow each other often have the same text. */
  addText(text: string | undefined): void {
    if (text !== undefined && text !== this.#lastText) {
      this.#lastText = text;
      this.#lastCell = SPECIAL.test(text) ? `"${text.replace(EACH_SPECIAL, "\\$&")}"` : `"${text}"`;
    }
    this.add(text === undefined ? undefined : this.#lastCell);
  }

  /** Null when there is nothing in it: `unnest` fills up columns that are shorter than others. */
  literal(): string | null {
    if (this.#cells.length === 0) return null;
    return `{${"NULL,".repeat(this.#nullsAhead)}${this.#cells.join(",")}}`;
  }
}
