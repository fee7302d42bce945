/** Reads and writes the messages without a library. */

interface Frame {
  readonly type: unknown;
  readonly meta: { readonly correlationId: unknown };
  readonly payload: unknown;
}

/** The response to a request frame. */
export type Answer = (frame: Frame) => string;

type Check = (payload: unknown) => unknown;

export function parse(text: string): Frame {
  return JSON.parse(text);
}

export function encodeEvent(payload: unknown): string {
  return JSON.stringify({ type: "EVT", meta: { timestamp: Date.now() }, payload });
}

function encodeAnswer(correlationId: unknown, payload: unknown): string {
  return JSON.stringify({ type: "ECHO_OK", meta: { correlationId, timestamp: Date.now() }, payload });
}

/** JSON without checks. */
const answerUnchecked: Answer = ({ meta, payload }) => encodeAnswer(meta.correlationId, payload);

/** What a careful author writes: the envelope checked by hand, both payloads by a schema. */
function checkedBy(check: Check): Answer {
  return ({ meta, payload }: Partial<Frame>) => {
    const correlationId = meta?.correlationId;
    if (typeof correlationId !== "string") throw new Error("The correlation id is not a string.");
    const request = check(payload);
    const response = check(request);
    return encodeAnswer(correlationId, response);
  };
}

// Loaded on demand, so that a server does not hold an unused library in memory.
const answers: Readonly<Record<string, () => Promise<Answer>>> = {
  json: async () => answerUnchecked,
  zod: async () => checkedBy((await import("./zod.ts")).check),
  valibot: async () => checkedBy((await import("./valibot.ts")).check),
};

/** The variant that the command line names. */
export async function chooseAnswer(variant: string | undefined): Promise<Answer> {
  const load = answers[variant ?? ""];
  if (load === undefined)
    throw new Error(`Pass the variant as argument: ${Object.keys(answers).join(" or ")}.`);
  return load();
}
