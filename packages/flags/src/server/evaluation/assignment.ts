/** Which arm of a flag a user was shown, by which id, and whether chance decided it. */
import type { Caller } from "@halyard/sessions/plugin";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { bucketId, bucketPath } from "../../engine/bucket.ts";
import type { Evaluation, EvaluationContext } from "../../engine/definition.ts";
import type { Path } from "../../engine/path.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import { storableText } from "../../model/inputs.ts";
import type { Exposure, FigureFlag } from "../../store/events/event-log.ts";
import { storableId } from "../../store/events/ids.ts";
import type { SnapshotFlag } from "../../store/flag-store.ts";
import type { TrustedSubject } from "../trusted/trusted-attributes.ts";

/** The same for all evaluations of a flag at one revision. */
interface FlagTraits {
  /** Whether the flag has variants or a rollout, in any environment. */
  readonly hasArms: boolean;
  readonly unit: Path;
  /** Whether the unit is an attribute. Only its hash is stored, so that tokens do not show what the page may not know. */
  readonly isHashed: boolean;
  readonly isOrganization: boolean;
}

const traitsOfFlags = new WeakMap<SnapshotFlag, FlagTraits>();

function traitsOf(found: SnapshotFlag): FlagTraits {
  let traits = traitsOfFlags.get(found);
  if (traits === undefined) {
    const { bucketBy = "userId", variants = [], rolloutPercentage, environments = {} } = found.flag;
    const isInEnvironment = Object.values(environments).some((one) => one.rolloutPercentage !== undefined);
    traits = {
      hasArms: variants.length > 0 || rolloutPercentage !== undefined || isInEnvironment,
      unit: bucketPath(bucketBy),
      isHashed: bucketBy.startsWith("attributes."),
      isOrganization: bucketBy === "organizationId",
    };
    traitsOfFlags.set(found, traits);
  }
  return traits;
}

/** Whether exposures of the flag have tokens. */
export function hasArms(found: SnapshotFlag): boolean {
  return traitsOf(found).hasArms;
}

/** How the figures of a flag find its subjects. */
export function figureFlag({ id, bucketBy = "userId" }: Pick<FeatureFlag, "id" | "bucketBy">): FigureFlag {
  return { id, unit: bucketBy === "userId" || bucketBy === "anonymousId" ? bucketBy : "other" };
}

/** Who evaluates, and for whom. */
export interface Evaluator {
  readonly caller: Caller;
  /** Of the whole request, also for global flags: with `evaluate-as` no flag of it is shown to the caller. */
  readonly subject: TrustedSubject | undefined;
}

/**
 * Whether the user of the context can be a subject of an experiment. Not with `evaluate-as`, in an impersonated session, or
 * with a user id that is claimed without a session.
 */
function canBeSubject({ caller, subject }: Evaluator, context: EvaluationContext): boolean {
  switch (caller.kind) {
    case "server":
    case "key":
      return true;
    case "anonymous":
      return context.userId === undefined;
    case "user":
      return subject?.isVerified === true && caller.user.impersonatedBy === undefined;
  }
}

/** The id of the flag's unit in this context, as it is stored; undefined if the context has none. */
function subjectOf(found: SnapshotFlag, context: EvaluationContext): string | undefined {
  const { unit, isHashed } = traitsOf(found);
  const id = bucketId(context, unit);
  if (id === "") return undefined;
  return isHashed ? hashOf(id) : storableId(id);
}

/** The same; empty if the caller cannot be a subject of an experiment. */
export function subjectFor(
  found: SnapshotFlag,
  context: EvaluationContext,
  evaluator: Evaluator,
): string | undefined {
  // An organization that is claimed without a session is not a subject either.
  const isClaimed = evaluator.caller.kind === "anonymous" && traitsOf(found).isOrganization;
  return isClaimed || !canBeSubject(evaluator, context) ? "" : subjectOf(found, context);
}

/** What an exposure is stored with, apart from the flag and the time. */
export type Assignment = Pick<
  Exposure,
  "arm" | "byChance" | "subject" | "userId" | "anonymousId" | "environment"
>;

export function assignmentOf(
  found: SnapshotFlag,
  context: EvaluationContext,
  evaluation: Evaluation,
  evaluator: Evaluator,
): Assignment {
  const { userId, anonymousId, environment } = context;
  const subject = subjectFor(found, context, evaluator);
  const byChance = Boolean(subject) && isByChance(found.flag, context, evaluation);
  return {
    arm: armOf(evaluation),
    byChance,
    ...(subject !== undefined && { subject }),
    ...(userId !== undefined && { userId: storableId(userId) }),
    ...(anonymousId !== undefined && { anonymousId: storableId(anonymousId) }),
    ...(environment !== undefined && { environment: storableText(environment) }),
  };
}

/** The key of the variant, else the value of a boolean flag, else whether the flag was on for the user. */
function armOf({ variant, value, reason }: Evaluation): string {
  if (variant !== undefined) return variant;
  if (typeof value === "boolean") return String(value);
  return String(reason !== "default" && reason !== "disabled");
}

function isByChance(flag: FeatureFlag, { environment }: EvaluationContext, { reason }: Evaluation): boolean {
  if (reason === "percentage_rollout") return true;
  if (reason !== "default") return false;
  const { environments = {}, rolloutPercentage } = flag;
  const inEnvironment =
    environment !== undefined && Object.hasOwn(environments, environment)
      ? environments[environment]?.rolloutPercentage
      : undefined;
  return (inEnvironment ?? rolloutPercentage) !== undefined;
}

const encoder = new TextEncoder();

/** 128 bits in hex. */
function hashOf(id: string): string {
  return bytesToHex(sha256(encoder.encode(storableText(id))).subarray(0, 16));
}
