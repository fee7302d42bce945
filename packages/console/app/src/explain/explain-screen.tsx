/** Why a user gets a value: the decision step by step. The address reproduces it. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Link2, Split } from "lucide-react";
import { type ReactNode, useState } from "react";
import { explainQuery, flagQuery, rulesQuery } from "../api/queries.ts";
import type { JsonObject, Person, Rule } from "../api/types.ts";
import { titleOf } from "../flag/environments.ts";
import { OverrideForm } from "../flag/overrides-tab.tsx";
import { FlagPicker } from "../flags/flag-picker.tsx";
import { personByIdQuery } from "../people/person-name.tsx";
import { PersonPicker } from "../people/person-picker.tsx";
import { useMay, useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Combobox } from "../ui/combobox.tsx";
import { copyText } from "../ui/copy.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Grid, Page, Path, Row, Stack } from "../ui/layout.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
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
  const known = [environments.default, ...(environments.claimable ?? [])].filter((one) => one !== undefined);
  return (
    <Page title={texts.explain.title} what={texts.explain.what}>
      <section aria-label={texts.explain.forWhom}>
        <Stack gap={12}>
          <Grid>
            <FlagPicker labelled flagKey={search.flag ?? ""} onChange={(flag) => set({ flag })} />
            {may("evaluate-as") ? (
              <PersonPicker person={person ?? undefined} onChange={(chosen) => set({ user: chosen?.id })} />
            ) : (
              <Field label={texts.explain.userId}>
                <input value={search.user ?? ""} onChange={({ target }) => set({ user: target.value })} />
              </Field>
            )}
            <Combobox
              free
              labelled
              label={texts.explain.environment}
              text={search.environment ?? ""}
              placeholder={environments.default ?? texts.explain.noEnvironment}
              onType={(environment) => set({ environment })}
              onChoose={(environment) => set({ environment })}
              options={[...new Set(known)].map((value) => ({ value }))}
            />
          </Grid>
          <details open={search.context !== undefined}>
            <summary>{texts.explain.context}</summary>
            <ContextField
              text={search.context ?? ""}
              problem={given.problem}
              onChange={(text) => set({ context: text })}
            />
          </details>
        </Stack>
      </section>
      <section aria-label={texts.explain.answer}>
        {search.flag === undefined ? (
          <Empty title={texts.explain.choose} icon={<Split aria-hidden size={20} />}>
            <p className="soft">{texts.explain.chooseHint}</p>
          </Empty>
        ) : (
          <Answer
            flagKey={search.flag}
            context={context}
            environment={search.environment}
            person={person ?? undefined}
          />
        )}
      </section>
    </Page>
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
  readonly person: Person | undefined;
}

function Answer({ flagKey, context, environment, person }: AnswerProps): ReactNode {
  const { data, error, isPending, refetch } = useQuery(explainQuery(flagKey, context, environment));
  const { data: rules = [] } = useQuery(rulesQuery(flagKey));
  const { data: flag } = useQuery(flagQuery(flagKey));
  const { environments } = useSession();
  const may = useMay();
  const [isOverriding, setOverriding] = useState(false);
  if (isPending) return <Loading />;
  if (data === undefined) return <Failure error={error} retry={() => void refetch()} />;
  const { result } = data;
  const named = environment ?? environments.default;
  const where = named && titleOf(named);
  // A missing override explains nothing.
  const steps = data.steps.filter(({ step, outcome }) => step !== "override" || outcome === "applied");
  const suggestions = suggestionsOf(data, (id) => nameOf(rules, id));
  const variant = flag?.variants?.findIndex(({ key }) => key === result.variant) ?? -1;
  return (
    <Stack gap={24}>
      <Row between wrap align="start" gap={16}>
        <div role="status">
          <h2 className="answer">
            {person?.name ?? texts.explain.anyone} {texts.explain.gets}{" "}
            <Value value={result.value} length={60} {...(variant >= 0 && { variant })} />{" "}
            {texts.explain.from(flag?.name ?? flagKey, where)}
          </h2>
        </div>
        <Button onClick={() => void copyText(location.href)}>
          <Link2 aria-hidden size={16} /> {texts.explain.copyLink}
        </Button>
      </Row>
      {data.ignored && <p className="notice notice-warning">{texts.impact.ignored}</p>}
      <Path label={texts.explain.answer}>
        {steps.map((step, place) => (
          <StepView
            key={`${step.step} ${String(step.detail["rule"] ?? "")}`}
            step={step}
            isLast={place === steps.length - 1}
            ruleName={(id) => nameOf(rules, id)}
            switchTitle={(isOn) => texts.explain.switchIs(isOn, where)}
          />
        ))}
      </Path>
      <Stack align="start">
        {suggestions.length > 0 && <h2>{texts.explain.whatChanges}</h2>}
        <ul>
          {suggestions.map((suggestion) => (
            <li key={suggestion} className="soft">
              {suggestion}
            </li>
          ))}
        </ul>
        {flag && person && may("override") && (
          <Button small onClick={() => setOverriding(true)}>
            {texts.overrides.add}
          </Button>
        )}
      </Stack>
      {flag && person && (
        <Dialog
          open={isOverriding}
          onClose={() => setOverriding(false)}
          title={texts.people.overrideTitle(flag.name, person.name)}
        >
          <OverrideForm flag={flag} person={person} onClose={() => setOverriding(false)} />
        </Dialog>
      )}
    </Stack>
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
