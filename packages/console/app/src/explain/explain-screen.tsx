/** Why a user gets a value: the decision step by step. The address reproduces it. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Link2, Split } from "lucide-react";
import { type ReactNode, useState } from "react";
import { explainQuery, rulesQuery } from "../api/queries.ts";
import type { JsonObject, Rule } from "../api/types.ts";
import { FlagPicker } from "../flags/flag-picker.tsx";
import { personByIdQuery } from "../people/person-name.tsx";
import { PersonPicker } from "../people/person-picker.tsx";
import { useMay, useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Field } from "../ui/field.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { Value } from "../ui/value.tsx";
import { StepView } from "./step-view.tsx";
import { suggestionsOf } from "./suggestions.ts";

const route = getRouteApi("/explain");

export function ExplainScreen(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const { environments } = useSession();
  const set = (change: {
    flag?: string | undefined;
    user?: string | undefined;
    context?: string | undefined;
    environment?: string | undefined;
  }): void =>
    void navigate({
      search: (before) =>
        Object.fromEntries(
          Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined && value !== ""),
        ),
      replace: true,
    });
  const { data: person } = useQuery({
    ...personByIdQuery(search.user ?? ""),
    enabled: search.user !== undefined && may("evaluate-as"),
  });
  const given = contextOf(search.context);
  // A session has these of its user, so a request of this person would have them.
  const context: JsonObject = {
    ...(search.user !== undefined && { userId: search.user }),
    ...(person && { email: person.email, ...(person.role !== undefined && { role: person.role }) }),
    ...given.context,
  };
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.explain.title}</h1>
          <p className="muted">{texts.explain.what}</p>
        </div>
        {search.flag !== undefined && (
          <button
            type="button"
            className="button"
            onClick={() =>
              void navigator.clipboard.writeText(location.href).then(
                () => showToast({ tone: "done", text: texts.common.copied }),
                () => showToast({ tone: "problem", text: texts.common.notCopied }),
              )
            }
          >
            <Link2 aria-hidden size={16} /> {texts.explain.copyLink}
          </button>
        )}
      </header>
      <div className="explain">
        <section className="card form explain-form" aria-label={texts.explain.forWhom}>
          <FlagPicker flagKey={search.flag ?? ""} onChange={(flag) => set({ flag })} />
          {may("evaluate-as") ? (
            <PersonPicker person={person ?? undefined} onChange={(chosen) => set({ user: chosen?.id })} />
          ) : (
            <Field label={texts.explain.userId}>
              <input value={search.user ?? ""} onChange={({ target }) => set({ user: target.value })} />
            </Field>
          )}
          <Field label={texts.explain.environment}>
            <input
              value={search.environment ?? ""}
              placeholder={environments.default ?? texts.explain.noEnvironment}
              onChange={({ target }) => set({ environment: target.value })}
            />
          </Field>
          <ContextField
            text={search.context ?? ""}
            problem={given.problem}
            onChange={(text) => set({ context: text })}
          />
        </section>
        <section className="explain-answer" aria-label={texts.explain.answer}>
          {search.flag === undefined ? (
            <Empty title={texts.explain.choose} icon={<Split aria-hidden size={28} />} />
          ) : (
            <Answer flagKey={search.flag} context={context} environment={search.environment} />
          )}
        </section>
      </div>
    </>
  );
}

interface ContextFieldProps {
  readonly text: string;
  readonly problem: string | undefined;
  readonly onChange: (text: string) => void;
}

function ContextField({ text, problem, onChange }: ContextFieldProps): ReactNode {
  const [typed, setTyped] = useState(text);
  return (
    <Field label={texts.explain.context} hint={texts.explain.contextHint} error={problem}>
      <textarea
        rows={4}
        spellCheck={false}
        placeholder='{ "attributes": { "theme": "dark" } }'
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          onChange(target.value);
        }}
      />
    </Field>
  );
}

interface AnswerProps {
  readonly flagKey: string;
  readonly context: JsonObject;
  readonly environment: string | undefined;
}

function Answer({ flagKey, context, environment }: AnswerProps): ReactNode {
  const { data, error, isPending, refetch } = useQuery(explainQuery(flagKey, context, environment));
  const { data: rules = [] } = useQuery(rulesQuery(flagKey));
  if (isPending) return <Loading />;
  if (data === undefined) return <Failure error={error} retry={() => void refetch()} />;
  const { result, steps } = data;
  const suggestions = suggestionsOf(data, (id) => nameOf(rules, id));
  return (
    <>
      <div className="card verdict">
        <span className="muted">{texts.explain.value}</span>
        <span className="verdict-value">
          <Value value={result.value} length={120} />
        </span>
        {result.variant !== undefined && <span className="badge">{result.variant}</span>}
        <span className={`reason reason-${result.reason}`}>
          {texts.reasons[result.reason] ?? result.reason}
        </span>
      </div>
      {data.ignored && <p className="notice notice-warning">{texts.impact.ignored}</p>}
      <ol className="decision">
        {steps.map((step, place) => (
          <StepView
            key={`${step.step} ${String(step.detail["rule"] ?? "")}`}
            step={step}
            isLast={place === steps.length - 1}
            ruleName={(id) => nameOf(rules, id)}
          />
        ))}
      </ol>
      {suggestions.length > 0 && (
        <section className="card">
          <h2>{texts.explain.whatChanges}</h2>
          <ul className="suggestions">
            {suggestions.map((suggestion) => (
              <li key={suggestion}>{suggestion}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function nameOf(rules: readonly Rule[], id: string): string {
  const place = rules.findIndex((rule) => rule.id === id);
  return rules[place]?.name ?? (place < 0 ? texts.rules.rule : texts.rules.numbered(place + 1));
}

function contextOf(text: string | undefined): { context: JsonObject; problem?: string | undefined } {
  if (text === undefined || text.trim() === "") return { context: {} };
  try {
    const context: unknown = JSON.parse(text);
    if (typeof context !== "object" || context === null || Array.isArray(context)) {
      return { context: {}, problem: texts.explain.notObject };
    }
    return { context: context as JsonObject };
  } catch (error) {
    return {
      context: {},
      problem: texts.value.notJson(error instanceof Error ? error.message : String(error)),
    };
  }
}
