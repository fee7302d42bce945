/** Several changes as one: each is checked on the result of those before it, and none is written yet. */
import type { AuditAction } from "../../model/audit.ts";
import { entityText, invalid } from "../rows/entity.ts";
import { ContentsBuilder } from "../snapshot/contents.ts";
import type { AuditedChange, Drafted, WriteContext } from "./write.ts";

/** Changes of one draft. All are made in one transaction. */
export const MAX_STEPS = 2000;

export class Drafting implements Drafted {
  /** The changes so far, in the order in which they are made. */
  readonly steps: AuditedChange[] = [];
  /** For the checks of the next change. */
  readonly context: WriteContext;
  /** The entities after the changes so far. Undefined if those before them are invalid. */
  readonly contents: ContentsBuilder | undefined;
  /** Ids of the overrides that they delete. */
  readonly gone: Set<string> = new Set();

  constructor(context: WriteContext) {
    this.contents = context.contents && new ContentsBuilder(context.contents);
    this.context = {
      ...context,
      contents: this.contents,
      drafted: this,
      revision: () => context.revision() + this.steps.length,
      sweep: async (override, before) => {
        const swept = { action: "override.deleted", flagId: override.flagId, entityId: override.id } as const;
        this.#apply({ ...swept, after: null });
        await context.sweep(override, before);
      },
    };
  }

  /** How many more overrides there are after the changes so far. */
  get addedOverrides(): number {
    const number = (of: AuditAction) => this.steps.filter(({ action }) => action === of).length;
    return number("override.created") - number("override.deleted");
  }

  add(...changes: readonly AuditedChange[]): void {
    for (const change of changes) {
      if (this.steps.length === MAX_STEPS) {
        throw invalid(`The plan makes more than ${MAX_STEPS} changes. Make it in several parts.`, {
          limit: MAX_STEPS,
        });
      }
      this.#apply(change);
      this.steps.push(change);
    }
  }

  #apply({
    action,
    flagId,
    entityId,
    after,
  }: Pick<AuditedChange, "action" | "flagId" | "entityId" | "after">) {
    const text = after && entityText(after);
    this.contents?.apply({ action, flagId, entityId, after: text, revision: this.context.revision() });
    this.contents?.finish();
    if (action === "override.deleted") this.gone.add(entityId);
  }
}
