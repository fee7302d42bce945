/** The plugin's tables in the host's database, and the rows they hold. */
import type { DBFieldAttribute, DBTableIndex } from "@better-auth/core/db";
import type { AuditEntry } from "./audit.ts";

/** A flag. Values and metadata are JSON text of our own: Better Auth's `json` type changes some values. */
export type FlagRow = {
  id: string;
  /** Empty for a flag of no organization: a unique index takes no nulls. */
  organizationId: string;
  key: string;
  name: string;
  description: string | null;
  type: string;
  enabled: boolean;
  defaultValue: string | null;
  metadata: string | null;
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** How often the flags of an organization have changed, and where its audit chain ends. */
export type RevisionRow = { id: string; organizationId: string; revision: number; auditHash: string };

/** An audit entry; its own id stands beside the host's, whose form the host decides. */
export type AuditRow = Omit<AuditEntry, "id"> & { id: string; entryId: string; hash: string };

type Rows = { featureFlag: FlagRow; featureFlagRevision: RevisionRow; featureFlagAudit: AuditRow };
type TableName = keyof Rows;
type FieldName<Table extends TableName> = Exclude<keyof Rows[Table], "id">;

export type FeatureFlagTables = {
  [Table in TableName]: {
    modelName?: string | undefined;
    fields: Record<FieldName<Table>, DBFieldAttribute>;
    indexes?: readonly DBTableIndex[] | undefined;
  };
};

/** Other names for the tables and columns. */
export type FeatureFlagTableNames = {
  [Table in TableName]?: {
    modelName?: string | undefined;
    fields?: { [Field in FieldName<Table>]?: string } | undefined;
  };
};

/** Without a length, MySQL gives a string column the type `text`, which can be neither indexed nor sorted by. */
const line: DBFieldAttribute = { type: "string", required: true, sortable: true };
const text: DBFieldAttribute = { type: "string", required: true };
const optionalText: DBFieldAttribute = { type: "string", required: false };
const integer: DBFieldAttribute = { type: "number", required: true };
const date: DBFieldAttribute = { type: "date", required: true, defaultValue: () => new Date() };

/** Built anew for each plugin, because Better Auth writes a host's own names into it. */
export function createTables(): FeatureFlagTables {
  return {
    featureFlag: {
      fields: {
        organizationId: { ...line },
        key: { ...line },
        name: { ...text },
        description: { ...optionalText },
        type: { ...line },
        enabled: { type: "boolean", required: true },
        defaultValue: { ...optionalText },
        metadata: { ...optionalText },
        version: { ...integer },
        createdAt: { ...date },
        updatedAt: { ...date },
      },
      indexes: [{ fields: ["organizationId", "key"], unique: true }],
    },
    featureFlagRevision: {
      fields: {
        organizationId: { ...line, unique: true },
        revision: { ...integer },
        auditHash: { ...line },
      },
    },
    featureFlagAudit: {
      fields: {
        entryId: { ...line },
        organizationId: { ...line },
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
        prevHash: { ...line },
        hash: { ...line },
      },
      indexes: [{ fields: ["organizationId", "revision"], unique: true }],
    },
  };
}
