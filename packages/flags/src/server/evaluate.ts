/** Evaluation of one flag: `POST /feature-flags/evaluate` and `auth.api.evaluateFeatureFlag`. */
import { evaluate } from "../engine/evaluate.ts";
import type {
  AnyEvaluationResult,
  EvaluationField,
  EvaluationFields,
  EvaluationSelect,
} from "../model/evaluation.ts";
import { NO_ORGANIZATION } from "../model/flag.ts";
import { parseEvaluateInput } from "../model/inputs.ts";
import type { FlagStore } from "../store/store.ts";
import { answer, type Call } from "./call.ts";
import { resolveContext } from "./context.ts";

export function evaluateFlag(call: Call, store: FlagStore): Promise<AnyEvaluationResult> {
  return answer(call, "EVALUATION_ERROR", async () => {
    const input = parseEvaluateInput(call.body);
    const context = await resolveContext(call, input.context);
    const { snapshot, stale } = await store.snapshot(NO_ORGANIZATION);
    const evaluation = evaluate(snapshot.flags.get(input.flagKey), context, input.default);
    const metadata = { revision: snapshot.revision, ...(stale && { stale }) };
    return {
      ...select({ ...evaluation, metadata }, input.select),
      evaluatedAt: new Date().toISOString(),
      ...(input.contextInResponse === true && { context }),
    };
  });
}

function select(fields: EvaluationFields, wanted: EvaluationSelect = "full"): Partial<EvaluationFields> {
  if (wanted === "full") return fields;
  if (wanted === "value") return { value: fields.value };
  const has = (field: EvaluationField) => wanted.includes(field);
  return {
    ...(has("value") && { value: fields.value }),
    ...(has("reason") && { reason: fields.reason }),
    ...(has("metadata") && { metadata: fields.metadata }),
  };
}
