/** The plugin's tables in the application's database, and the types of their rows. */
import type { DBFieldAttribute, DBTableIndex } from "@better-auth/core/db";
import type { AuditRecord } from "./audit.ts";
import type {
  EvaluationCountRow,
  EventCountRow,
  EventKeyRow,
  EventRow,
  ExposureRow,
  LinkRow,
  SubjectRow,
} from "./event-rows.ts";
import { createEventTables } from "./event-tables.ts";
import type { EntityRow } from "./fields.ts";
import { FLAG_FIELDS } from "./flag.ts";
import { columnsOf } from "./kinds.ts";
import { OVERRIDE_FIELDS } from "./override.ts";
import { RULE_FIELDS } from "./rule.ts";
import { SEGMENT_FIELDS } from "./segment.ts";
import {
  integer,
  line,
  optionalInteger,
  optionalLine,
  optionalText,
  text,
  uniqueLine,
} from "./table-fields.ts";

/*
 * Rules for every table:
 * - The ids that callers see are our own UUIDs, in a column beside the application's `id`. The application decides the
 *   form of `id`, and a query with a malformed `id` may raise a database error; a malformed UUID finds nothing.
 * - `tenant` is an organization's id when `multiTenant` is on, otherwise empty, because a unique index ignores nulls.
 * - Values, conditions and numbers with a fraction are stored as JSON text: Better Auth's `json` type changes some values,
 *   and its `number` type is an integer column.
 */

/** A flag. */
export type FlagRow = EntityRow<typeof FLAG_FIELDS>;

/** A targeting rule of a flag. */
export type RuleRow = EntityRow<typeof RULE_FIELDS>;

/** A flag's value for one user. */
export type OverrideRow = EntityRow<typeof OVERRIDE_FIELDS> & {
  /** The SHA-256 of `userId`, because some collations treat `Ann` and `ann` as equal. */
  userHash: string;
};

/** A segment. */
export type SegmentRow = EntityRow<typeof SEGMENT_FIELDS>;

/** The revision of a tenant's flags, and the hash and time of its last audit entry. */
export type RevisionRow = {
  id: string;
  tenant: string;
  revision: number;
  auditHash: string;
  /** ISO 8601. Null before the first entry. */
  auditAt: string | null;
  /** The change counter that numbers the changes of the tenant. */
  counter: number | null;
  /** The number of the last change. Null before the first change. */
  seq: number | null;
};

/** An audit entry. */
export type AuditRow = Omit<AuditRecord, "id"> & { id: string; entryId: string; hash: string };

/** The continuation of an audit entry's `before` that is larger than its column. */
export type AuditPartRow = {
  id: string;
  entryId: string;
  /** From 1; the column `before` of the entry is the part 0. */
  part: number;
  text: string;
};

/** A part of a plan that waits to be applied. */
export type PlanRow = {
  id: string;
  planId: string;
  /** From 0. */
  part: number;
  text: string;
  /** ISO 8601. */
  expiresAt: string;
};

/** Events that wait for a consumer: a sink, or the statistics. */
export type OutboxRow = {
  id: string;
  /** The order of delivery. */
  entryId: string;
  sink: string;
  /** The ids of the events, separated by spaces. An entry of a sink has one event. */
  eventIds: string;
  /** ISO 8601. */
  enqueuedAt: string;
};

/** A lease on work that one process at a time does. The holder increases `beat` while it is alive. */
export type LeaseRow = { id: string; name: string; holder: string; beat: number };

type Rows = {
  featureFlag: FlagRow;
  featureFlagRule: RuleRow;
  featureFlagOverride: OverrideRow;
  featureFlagSegment: SegmentRow;
  featureFlagRevision: RevisionRow;
  featureFlagAudit: AuditRow;
  featureFlagAuditPart: AuditPartRow;
  featureFlagPlan: PlanRow;
  featureFlagEvent: EventRow;
  featureFlagEventKey: EventKeyRow;
  featureFlagExposure: ExposureRow;
  featureFlagSubject: SubjectRow;
  featureFlagLink: LinkRow;
  featureFlagEventCount: EventCountRow;
  featureFlagEvaluationCount: EvaluationCountRow;
  featureFlagOutbox: OutboxRow;
  featureFlagLease: LeaseRow;
};
type TableName = keyof Rows;
type FieldName<Table extends TableName> = Exclude<keyof Rows[Table], "id">;

export type FeatureFlagTables = {
  [Table in TableName]: {
    modelName?: string | undefined;
    fields: Record<FieldName<Table>, DBFieldAttribute>;
    indexes?: readonly DBTableIndex[] | undefined;
  };
};

/** The application's own names for the tables and columns. */
export type FeatureFlagTableNames = {
  [Table in TableName]?: {
    /** The name of the table. */
    modelName?: string | undefined;
    /** The names of its columns, by field. */
    fields?: { [Field in FieldName<Table>]?: string } | undefined;
  };
};

/** Creates new objects for each plugin, because Better Auth writes the application's own names into them. */
export function createTables(): FeatureFlagTables {
  return {
    featureFlag: {
      fields: columnsOf(FLAG_FIELDS),
      indexes: [{ fields: ["tenant", "key"], unique: true }, { fields: ["key"] }],
    },
    featureFlagRule: {
      fields: columnsOf(RULE_FIELDS),
      indexes: [{ fields: ["flagId"] }, { fields: ["tenant", "ruleId"] }],
    },
    featureFlagOverride: {
      fields: { ...columnsOf(OVERRIDE_FIELDS), userHash: { ...line } },
      indexes: [
        { fields: ["flagId", "userHash"], unique: true },
        { fields: ["tenant", "overrideId"] },
        { fields: ["tenant", "expiresAt"] },
      ],
    },
    featureFlagSegment: {
      fields: columnsOf(SEGMENT_FIELDS),
      indexes: [{ fields: ["tenant", "key"], unique: true }],
    },
    featureFlagRevision: {
      fields: {
        tenant: { ...uniqueLine, sortable: true },
        revision: { ...integer },
        auditHash: { ...line },
        auditAt: { ...optionalLine },
        counter: { ...optionalInteger },
        seq: { ...optionalInteger },
      },
      indexes: [{ fields: ["counter", "seq"] }],
    },
    featureFlagAudit: {
      fields: {
        entryId: { ...uniqueLine },
        tenant: { ...line },
        revision: { ...integer },
        at: { ...line },
        action: { ...line },
        actorType: { ...line },
        actorId: { ...line },
        flagId: { ...line },
        flagKey: { ...line },
        entityId: { ...line },
        before: { ...optionalText },
        after: { ...optionalText },
        ip: { ...optionalText },
        userAgent: { ...optionalText },
        requestId: { ...optionalText },
        impersonatedBy: { ...optionalText },
        changeId: { ...line },
        note: { ...optionalText },
        prevHash: { ...line },
        hash: { ...line },
      },
      indexes: [
        { fields: ["tenant", "revision"], unique: true },
        { fields: ["flagId"] },
        { fields: ["changeId"] },
      ],
    },
    featureFlagAuditPart: {
      fields: { entryId: { ...line }, part: { ...integer }, text: { ...text } },
      indexes: [{ fields: ["entryId", "part"], unique: true }],
    },
    featureFlagPlan: {
      fields: { planId: { ...line }, part: { ...integer }, text: { ...text }, expiresAt: { ...line } },
      indexes: [{ fields: ["planId", "part"], unique: true }, { fields: ["expiresAt"] }],
    },
    ...createEventTables(),
    featureFlagOutbox: {
      fields: {
        entryId: { ...uniqueLine, sortable: true },
        sink: { ...line },
        eventIds: { ...text },
        enqueuedAt: { ...line },
      },
      indexes: [{ fields: ["sink", "entryId"] }],
    },
    featureFlagLease: {
      fields: { name: { ...uniqueLine }, holder: { ...line }, beat: { ...integer } },
    },
  };
}
