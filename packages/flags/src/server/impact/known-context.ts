/** The context of a user as far as the server knows it, without a request. Reading anything else is noticed. */
import type { EvaluationContext } from "../../engine/definition.ts";
import type { JsonObject } from "../../engine/json.ts";
import type { Root } from "../../engine/path.ts";

/** The only member of `attributes` that the server sets. */
const ROLE = "organizationRole";

/**
 * Creates contexts, and notices when an evaluation reads something that only a request or a session of the user could
 * say. Evaluations are synchronous, so one flag is enough for all contexts.
 */
export class KnownContexts {
  #isGuess = false;
  readonly #unknown: EvaluationContext;
  readonly #attributes: ProxyHandler<JsonObject>;

  /** `roots`: what is not known of any user. */
  constructor(roots: readonly Root[]) {
    const notice = () => {
      this.#isGuess = true;
    };
    const unknown = Object.fromEntries(
      roots.map((root): [string, PropertyDescriptor] => [root, { get: notice }]),
    );
    this.#unknown = Object.create(null, unknown);
    const noticeOther = (name: PropertyKey) => {
      if (typeof name === "string" && name !== ROLE) notice();
    };
    this.#attributes = {
      get(target, name) {
        noticeOther(name);
        return Reflect.get(target, name);
      },
      getOwnPropertyDescriptor(target, name) {
        noticeOther(name);
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
    };
  }

  /** The context with these fields. With `organizationRole`, the other attributes are unknown. */
  create(known: EvaluationContext, organizationRole?: string): EvaluationContext {
    const context: EvaluationContext = Object.assign(Object.create(this.#unknown), known);
    if (organizationRole === undefined) return context;
    const attributes = new Proxy<JsonObject>({ [ROLE]: organizationRole }, this.#attributes);
    return Object.defineProperty(context, "attributes", { value: attributes });
  }

  /** Begins to notice the reads of evaluations. */
  begin(): void {
    this.#isGuess = false;
  }

  /** Whether an evaluation since `begin()` read something unknown. */
  get isGuess(): boolean {
    return this.#isGuess;
  }

  /** Whether `evaluate` read something unknown, and its result. */
  observe<Result>(evaluate: () => Result): { readonly result: Result; readonly isGuess: boolean } {
    this.begin();
    const result = evaluate();
    return { result, isGuess: this.#isGuess };
  }
}
