/** Arrays as PostgreSQL reads them, one for each column of the rows that a statement writes. */

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** A column's cells in the order of the rows. Cells that need no quotes are added as they are. */
export class PostgresArray {
  readonly #cells: string[] = [];
  #hasValue = false;

  /** A number, a UUID, or anything else without quotes, commas, braces and spaces. */
  add(cell: string | undefined): void {
    if (cell === undefined) {
      this.#cells.push("NULL");
      return;
    }
    this.#hasValue = true;
    this.#cells.push(cell);
  }

  addText(text: string | undefined): void {
    if (text === undefined) this.add(undefined);
    else this.add(SPECIAL.test(text) ? `"${text.replace(EACH_SPECIAL, "\\$&")}"` : `"${text}"`);
  }

  /** Null when there is nothing in it: `unnest` fills up columns that are shorter than others. */
  literal(): string | null {
    return this.#hasValue ? `{${this.#cells.join(",")}}` : null;
  }
}
