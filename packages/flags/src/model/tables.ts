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
} from "./event-rows.ts";
import { createEventTables } from "./event-tables.ts";
import {
  boolean,
  date,
  integer,
  line,
  optionalBoolean,
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
export type FlagRow = {
  id: string;
  flagId: string;
  tenant: string;
  /** A label, when `multiTenant` is off. */
  organizationId: string | null;
  key: string;
  name: string;
  description: string | null;
  type: string;
  enabled: boolean;
  defaultValue: string | null;
  offValue: string | null;
  rolloutPercentage: number | null;
  variants: string | null;
  environments: string | null;
  salt: string | null;
  bucketBy: string | null;
  visibility: string;
  tenantOverridable: boolean | null;
  algo: number;
  metadata: string | null;
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** A targeting rule of a flag. */
export type RuleRow = {
  id: string;
  ruleId: string;
  tenant: string;
  flagId: string;
  priority: string;
  name: string | null;
  conditions: string;
  value: string | null;
  variant: string | null;
  percentage: string | null;
  enabled: boolean;
  /** Part of the hash input for `percentage`. */
  salt: string;
  version: number;
  /** The revision that created the rule. It orders rules with the same priority. */
  position: number;
  createdAt: Date;
};

/** A flag's value for one user. */
export type OverrideRow = {
  id: string;
  overrideId: string;
  tenant: string;
  flagId: string;
  userId: string;
  /** The SHA-256 of `userId`, because some collations treat `Ann` and `ann` as equal. */
  userHash: string;
  value: string;
  variant: string | null;
  enabled: boolean;
  reason: string | null;
  /** ISO 8601 text, because MySQL's timestamps end in 2038. */
  expiresAt: string | null;
  createdAt: Date;
};

/** A segment. */
export type SegmentRow = {
  id: string;
  segmentId: string;
  tenant: string;
  organizationId: string | null;
  key: string;
  name: string | null;
  conditions: string;
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** The revision of a tenant's flags, and the hash and time of its last audit entry. */
export type RevisionRow = {
  id: string;
  tenant: string;
  revision: number;
  auditHash: string;
  /** ISO 8601. Null before the first entry. */
  auditAt: string | null;
  /** The value of the change counter at the last change. Null before the first change. */
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

/** An event that waits for delivery to a sink. */
export type OutboxRow = {
  id: string;
  /** The order of delivery. */
  entryId: string;
  sink: string;
  event: string;
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
  featureFlagEvent: EventRow;
  featureFlagEventKey: EventKeyRow;
  featureFlagExposure: ExposureRow;
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
      fields: {
        flagId: { ...uniqueLine },
        tenant: { ...line },
        organizationId: { ...optionalLine },
        key: { ...line },
        name: { ...text },
        description: { ...optionalText },
        type: { ...line },
        enabled: { ...boolean },
        defaultValue: { ...optionalText },
        offValue: { ...optionalText },
        rolloutPercentage: { ...optionalInteger },
        variants: { ...optionalText },
        environments: { ...optionalText },
        salt: { ...optionalText },
        bucketBy: { ...optionalText },
        visibility: { ...line },
        tenantOverridable: { ...optionalBoolean },
        algo: { ...integer },
        metadata: { ...optionalText },
        version: { ...integer },
        createdAt: { ...date },
        updatedAt: { ...date },
      },
      indexes: [{ fields: ["tenant", "key"], unique: true }, { fields: ["key"] }],
    },
    featureFlagRule: {
      fields: {
        ruleId: { ...uniqueLine },
        tenant: { ...line },
        flagId: { ...line },
        priority: { ...line },
        name: { ...optionalText },
        conditions: { ...text },
        value: { ...optionalText },
        variant: { ...optionalText },
        percentage: { ...optionalLine },
        enabled: { ...boolean },
        salt: { ...line },
        version: { ...integer },
        position: { ...integer },
        createdAt: { ...date },
      },
      indexes: [{ fields: ["flagId"] }, { fields: ["tenant", "ruleId"] }],
    },
    featureFlagOverride: {
      fields: {
        overrideId: { ...uniqueLine },
        tenant: { ...line },
        flagId: { ...line },
        userId: { ...text },
        userHash: { ...line },
        value: { ...text },
        variant: { ...optionalText },
        enabled: { ...boolean },
        reason: { ...optionalText },
        expiresAt: { ...optionalLine },
        createdAt: { ...date },
      },
      indexes: [
        { fields: ["flagId", "userHash"], unique: true },
        { fields: ["tenant", "overrideId"] },
        { fields: ["tenant", "expiresAt"] },
      ],
    },
    featureFlagSegment: {
      fields: {
        segmentId: { ...uniqueLine },
        tenant: { ...line },
        organizationId: { ...optionalLine },
        key: { ...line },
        name: { ...optionalText },
        conditions: { ...text },
        version: { ...integer },
        createdAt: { ...date },
        updatedAt: { ...date },
      },
      indexes: [{ fields: ["tenant", "key"], unique: true }],
    },
    featureFlagRevision: {
      fields: {
        tenant: { ...uniqueLine, sortable: true },
        revision: { ...integer },
        auditHash: { ...line },
        auditAt: { ...optionalLine },
        seq: { ...optionalInteger },
      },
      indexes: [{ fields: ["seq"] }],
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
        prevHash: { ...line },
        hash: { ...line },
      },
      indexes: [{ fields: ["tenant", "revision"], unique: true }, { fields: ["flagId"] }],
    },
    featureFlagAuditPart: {
      fields: { entryId: { ...line }, part: { ...integer }, text: { ...text } },
      indexes: [{ fields: ["entryId", "part"], unique: true }],
    },
    ...createEventTables(),
    featureFlagOutbox: {
      fields: {
        entryId: { ...uniqueLine, sortable: true },
        sink: { ...line },
        event: { ...text },
        enqueuedAt: { ...line },
      },
      indexes: [{ fields: ["sink", "entryId"] }],
    },
    featureFlagLease: {
      fields: { name: { ...uniqueLine }, holder: { ...line }, beat: { ...integer } },
    },
  };
}
