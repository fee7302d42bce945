/** The tables of events, exposures and roll-ups. `event-rows.ts` has the types of their rows. */
import type { DBFieldAttribute, DBTableIndex } from "@better-auth/core/db";
import type {
  EvaluationCountRow,
  EventCountRow,
  EventKeyRow,
  EventRow,
  ExposureRow,
  LinkRow,
  SubjectRow,
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
  featureFlagSubject: Table<SubjectRow>;
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
        flagKey: { ...optionalLine },
        flagId: { ...optionalLine },
        event: { ...line },
        value: { ...optionalText },
        properties: { ...optionalText },
        userId: { ...optionalText },
        anonymousId: { ...optionalText },
        subject: { ...optionalText },
        organizationId: { ...optionalLine },
        variant: { ...optionalText },
        environment: { ...line },
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
        environment: { ...line },
        firstAt: { ...line },
        lastAt: { ...line },
      },
      indexes: [{ fields: ["flagId", "exposureId"] }],
    },
    featureFlagSubject: {
      fields: {
        subjectHash: { ...uniqueLine },
        flagId: { ...line },
        environment: { ...line },
        subject: { ...text },
        arm: { ...text },
        byChance: { ...boolean },
        firstAt: { ...line },
        lastAt: { ...line },
      },
      indexes: [{ fields: ["flagId"] }, { fields: ["lastAt"] }],
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
        event: { ...line },
        count: { ...bigInteger },
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
