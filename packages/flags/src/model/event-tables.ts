/** The tables of events, exposures and roll-ups. `event-rows.ts` has the types of their rows. */
import type { DBFieldAttribute, DBTableIndex } from "@better-auth/core/db";
import type {
  EvaluationCountRow,
  EventCountRow,
  EventKeyRow,
  EventRow,
  ExposureRow,
  LinkRow,
} from "./event-rows.ts";
import { bigInteger, boolean, line, optionalLine, optionalText, text, uniqueLine } from "./table-fields.ts";

interface Table<Row> {
  fields: Record<Exclude<keyof Row, "id">, DBFieldAttribute>;
  indexes?: readonly DBTableIndex[] | undefined;
}

type EventTables = {
  featureFlagEvent: Table<EventRow>;
  featureFlagEventKey: Table<EventKeyRow>;
  featureFlagExposure: Table<ExposureRow>;
  featureFlagLink: Table<LinkRow>;
  featureFlagEventCount: Table<EventCountRow>;
  featureFlagEvaluationCount: Table<EvaluationCountRow>;
};

export function createEventTables(): EventTables {
  return {
    featureFlagEvent: {
      fields: {
        eventId: { ...uniqueLine },
        tenant: { ...line },
        flagKey: { ...line },
        flagId: { ...optionalLine },
        event: { ...line },
        value: { ...optionalText },
        properties: { ...optionalText },
        userId: { ...optionalText },
        anonymousId: { ...optionalText },
        subject: { ...optionalText },
        organizationId: { ...optionalLine },
        variant: { ...optionalText },
        at: { ...line },
        receivedAt: { ...line },
        sampleRate: { ...line },
        idempotencyKey: { ...optionalLine },
      },
      indexes: [{ fields: ["flagId", "eventId"] }],
    },
    featureFlagEventKey: {
      fields: {
        keyHash: { ...uniqueLine },
        bodyHash: { ...line },
        answer: { ...text },
        expiresAt: { ...line },
      },
      indexes: [{ fields: ["expiresAt"] }],
    },
    featureFlagExposure: {
      fields: {
        exposureId: { ...uniqueLine },
        exposureHash: { ...uniqueLine },
        tenant: { ...line },
        flagId: { ...line },
        variant: { ...text },
        byChance: { ...boolean },
        subject: { ...optionalText },
        userId: { ...text },
        anonymousId: { ...optionalText },
        firstAt: { ...line },
        lastAt: { ...line },
      },
      indexes: [{ fields: ["flagId", "exposureId"] }],
    },
    featureFlagLink: {
      fields: {
        linkHash: { ...uniqueLine },
        anonymousId: { ...text },
        userId: { ...line },
        at: { ...line },
      },
      indexes: [{ fields: ["userId"] }, { fields: ["at"] }],
    },
    featureFlagEventCount: {
      fields: {
        rollupId: { ...uniqueLine },
        tenant: { ...line },
        flagId: { ...line },
        variant: { ...text },
        event: { ...line },
        count: { ...bigInteger },
        valued: { ...bigInteger },
        sumUnits: { ...bigInteger },
        sumMillionths: { ...bigInteger },
      },
      indexes: [{ fields: ["flagId", "rollupId"] }, { fields: ["tenant", "rollupId"] }],
    },
    featureFlagEvaluationCount: {
      fields: {
        rollupId: { ...uniqueLine },
        tenant: { ...line },
        flagId: { ...line },
        ruleMatch: { ...bigInteger },
        override: { ...bigInteger },
        percentageRollout: { ...bigInteger },
        byDefault: { ...bigInteger },
        disabled: { ...bigInteger },
      },
      indexes: [{ fields: ["flagId", "rollupId"] }, { fields: ["tenant", "rollupId"] }],
    },
  };
}
