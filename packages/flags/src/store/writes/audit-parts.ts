/** Stores an audit entry's `before` that is larger than a column: the rest is in rows of its own. */
import type { AuditPartRow, AuditRow } from "../../model/tables.ts";
import { fitsColumn } from "../rows/entity.ts";
import { type Adapter, findRowsIn } from "../rows/queries.ts";

const model = "featureFlagAuditPart";

/** UTF-16 units per part: at most three bytes each, which a `text` column of MySQL (65,535 bytes) holds. */
const PART_LENGTH = 21_000;

/** The text in parts that each fit a column; one part if the whole text fits. */
export function splitText(text: string): string[] {
  if (fitsColumn(text)) return [text];
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = start + PART_LENGTH;
    // Both halves of a surrogate pair stay in one part, because neither can be stored alone.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

export async function insertParts(tx: Adapter, entryId: string, texts: readonly string[]): Promise<void> {
  for (const [index, text] of texts.entries()) {
    await tx.create<AuditPartRow>({ model, data: { entryId, part: index + 1, text } });
  }
}

/** The rows with their `before` complete. */
export async function joinParts(adapter: Adapter, rows: readonly AuditRow[]): Promise<AuditRow[]> {
  // Only a full column can have a continuation.
  const isFull = ({ before }: AuditRow) => before !== null && before.length >= PART_LENGTH - 1;
  const ids = rows.filter(isFull).map(({ entryId }) => entryId);
  const parts = await findRowsIn<AuditPartRow>(adapter, model, {}, "entryId", ids);
  if (parts.length === 0) return [...rows];
  parts.sort((a, b) => a.part - b.part);
  const textOf = new Map<string, string>();
  for (const { entryId, text } of parts) textOf.set(entryId, (textOf.get(entryId) ?? "") + text);
  return rows.map((row) => ({ ...row, before: row.before && row.before + (textOf.get(row.entryId) ?? "") }));
}
