/** The parameters of the statement that stores a group: one array per column. */
import { PostgresArray } from "../../postgres/array.ts";
import { type Group, type GroupBatch, type GroupRow, shorten } from "../group.ts";

interface Column<Row> {
  readonly cell: (row: Row) => string | undefined;
  /** Whether the cells need quotes. */
  readonly isText: boolean;
}

const text = <Row>(cell: Column<Row>["cell"]): Column<Row> => ({ cell, isText: true });
const plain = <Row>(cell: Column<Row>["cell"]): Column<Row> => ({ cell, isText: false });

/** The columns of `input`, in the order of the statement. */
const EVENT_COLUMNS: readonly Column<GroupRow>[] = [
  plain(({ entry }) => entry.event.id),
  text(({ entry }) => entry.tenant),
  text(({ entry }) => entry.event.flagKey),
  text(({ entry }) => entry.event.event),
  text(({ entry }) => entry.event.variant),
  text(({ entry }) => entry.event.userId),
  text(({ entry }) => entry.event.organizationId),
  plain(({ entry: { event } }) => (event.value === undefined ? undefined : String(event.value))),
  text(({ entry: { event } }) => event.properties && JSON.stringify(event.properties)),
  text(({ entry: { event } }) => (event.at === event.receivedAt ? undefined : event.at)),
  text(({ entry }) => entry.event.receivedAt),
  plain(({ entry: { event } }) => (event.sampleRate === 1 ? undefined : String(event.sampleRate))),
  text(({ entry }) => entry.event.idempotencyKey),
  plain(({ key }) => key),
  plain(({ entry: { dedupe } }) => dedupe && shorten(dedupe.bodyHash)),
  plain(({ batchKey }) => batchKey),
  plain(({ entry }) => (entry.isKept ? undefined : "t")),
  text(({ entry }) => entry.flagId),
  text(({ entry }) => entry.event.anonymousId),
  text(({ entry }) => entry.subject),
  text(({ entry }) => entry.event.environment),
];

/** The columns of `batch_input`, in the order of the statement. */
const BATCH_COLUMNS: readonly Column<GroupBatch>[] = [
  plain(({ key }) => key),
  plain(({ bodyHash }) => bodyHash),
  text(({ answer }) => answer),
];

export function parametersOf({ rows, batches }: Group): (string | null)[] {
  return [
    ...EVENT_COLUMNS.map((column) => literalOf(column, rows)),
    ...BATCH_COLUMNS.map((column) => literalOf(column, batches)),
  ];
}

function literalOf<Row>({ cell, isText }: Column<Row>, rows: readonly Row[]): string | null {
  const array = new PostgresArray();
  for (const row of rows) {
    if (isText) array.addText(cell(row));
    else array.add(cell(row));
  }
  return array.literal();
}
