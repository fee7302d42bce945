/** One flag: its parts in tabs, the environment that they show, and one draft for all of them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Copy } from "lucide-react";
import { Tabs } from "radix-ui";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { FlagActivity } from "../activity/flag-activity.tsx";
import { flagQuery, overridesQuery, rulesQuery } from "../api/queries.ts";
import { isStatus } from "../api/request.ts";
import { useLastEntries } from "../flags/last-actors.ts";
import { ActorMark, actorName } from "../history/actor.tsx";
import { FlagHistory } from "../history/history-screen.tsx";
import { useMay, useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { buttonClass } from "../ui/button.tsx";
import { copyText } from "../ui/copy.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Page, Row, Stack } from "../ui/layout.tsx";
import { Empty, Failure, LoadingPage } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import type { Stored } from "./draft/cells.ts";
import { DraftBar, whereOf } from "./draft-bar.tsx";
import { EnvironmentChoice } from "./environment-choice.tsx";
import { ALL_ENVIRONMENTS, knownEnvironments, settingCell } from "./environments.ts";
import { EnvironmentsTab } from "./environments-tab.tsx";
import { FlagSwitchDialogs } from "./flag-switch.tsx";
import { ImpactAside } from "./impact-aside.tsx";
import { OverridesTab } from "./overrides-tab.tsx";
import { SettingsTab } from "./settings-tab.tsx";
import { TargetingTab } from "./targeting-tab.tsx";
import { useChecks } from "./use-checks.ts";
import { useDraftCount } from "./use-count.ts";
import { useFlagDraft } from "./use-draft.ts";
import { useFlagKeys } from "./use-flag-keys.ts";
import { saveWithoutPlan, useSave, useUndo } from "./use-save.ts";

const route = getRouteApi("/flag/$key");

export function FlagScreen(): ReactNode {
  const { key } = route.useParams();
  const { data: flag, error, isPending, refetch } = useQuery(flagQuery(key));
  const rules = useQuery(rulesQuery(key));
  // Another person may delete the flag while it is shown.
  if (isStatus(error, 404)) {
    return (
      <Empty title={texts.flag.missing(key)}>
        <Link to="/" className={buttonClass()}>
          {texts.errors.toFlags}
        </Link>
      </Empty>
    );
  }
  if (isPending || (rules.isPending && flag !== undefined)) return <LoadingPage />;
  if (flag === undefined || rules.data === undefined) {
    const retry = (): void => void Promise.all([refetch(), rules.refetch()]);
    return <Failure error={error ?? rules.error} retry={retry} />;
  }
  return <FlagView key={flag.id} stored={{ flag, rules: rules.data }} />;
}

function useEnvironment({ flag, rules }: Stored): readonly [string | undefined, readonly string[]] {
  const { environment: named } = route.useSearch();
  const { environments } = useSession();
  const known = knownEnvironments(environments, flag, rules);
  const isOther = named !== undefined && named !== ALL_ENVIRONMENTS && !known.includes(named);
  // Without a declaration, an address may name an environment that has no settings yet.
  const all = isOther && environments.list === undefined ? [...known, named] : known;
  if (named === ALL_ENVIRONMENTS) return [undefined, all];
  return [named !== undefined && all.includes(named) ? named : (environments.default ?? all[0]), all];
}

function FlagView({ stored }: { readonly stored: Stored }): ReactNode {
  const { flag } = stored;
  const { tab = "targeting" } = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const [environment, environments] = useEnvironment(stored);
  const draft = useFlagDraft(stored, environment, environments);
  const counted = useDraftCount(draft, tab === "targeting");
  const client = useQueryClient();
  const save = useSave(flag.id, {
    saveUncounted: () => saveWithoutPlan(draft.draft.plan),
    onSaved: ({ changeId, moved }) => {
      const { kept } = draft.draft;
      // As it is saved, until it is read again.
      client.setQueryData(flagQuery(flag.key).queryKey, kept.flag);
      client.setQueryData(rulesQuery(flag.key).queryKey, [...kept.rules]);
      draft.discard({ where: whereOf(draft), moved, ...(changeId !== undefined && { changeId }) });
    },
  });
  const undo = useUndo(flag.id);
  const { data: overrides } = useQuery(overridesQuery({ flagId: flag.id }));
  const checks = useChecks(draft.draft.isEmpty);
  const [isSwitching, setSwitching] = useState(false);
  const tabList = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a phone the row of tabs is wider than the window.
    const chosen = tabList.current?.querySelector(`[data-tab="${CSS.escape(tab)}"]`);
    chosen?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [tab]);
  const [areFiguresOpen, setFiguresOpen] = useState(false);
  const { changes, conflicts, problems } = draft.draft;
  const isUnsaved = changes.length > 0;
  useEffect(() => {
    document.title = `${draft.next.flag.name} · ${texts.product}`;
    return () => {
      document.title = texts.product;
    };
  }, [draft.next.flag.name]);
  const goTo = (search: { tab?: string; environment?: string }): void =>
    void navigate({ search: (before) => ({ ...before, ...search }), replace: true });
  const show = (): void => {
    goTo({ tab: problems[0]?.what === "name" ? "settings" : "targeting" });
    checks.ask();
  };
  const submit = (): void => {
    if (!isUnsaved || conflicts.length > 0 || draft.isReadOnly) return;
    if (problems.length > 0) return show();
    save.mutate({ input: counted.input, count: counted.count });
  };
  useFlagKeys({
    onSave: submit,
    onUndo: undo.done?.changeId === undefined ? undefined : () => undo.undo.mutate(undo.done?.changeId ?? ""),
    onEnvironment: (step) => {
      const names = [...environments, ALL_ENVIRONMENTS];
      const place = names.indexOf(environment ?? ALL_ENVIRONMENTS) + step;
      goTo({ environment: names.at(place % names.length) ?? ALL_ENVIRONMENTS });
    },
  });
  const tabs: readonly (readonly [string, ReactNode, ReactNode])[] = [
    [
      "targeting",
      texts.flag.tabs.targeting,
      <TargetingTab
        key="targeting"
        draft={draft}
        counted={counted}
        checks={checks}
        onSwitch={() => setSwitching(true)}
      />,
    ],
    [
      "environments",
      texts.flag.tabs.environments,
      <EnvironmentsTab
        key="environments"
        draft={draft}
        onOpen={(name) => goTo({ tab: "targeting", environment: name })}
      />,
    ],
    [
      "overrides",
      <>
        {texts.flag.tabs.overrides} <span className="muted">{overrides?.length || ""}</span>
      </>,
      <OverridesTab key="overrides" flag={flag} />,
    ],
    ["activity", texts.flag.tabs.activity, <FlagActivity key="activity" flag={flag} />],
    ...(may("audit")
      ? [["history", texts.flag.tabs.history, <FlagHistory key="history" flag={flag} />] as const]
      : []),
    ["settings", texts.flag.tabs.settings, <SettingsTab key="settings" draft={draft} />],
  ];
  return (
    <Page
      path={
        <Row gap={4} className="caption muted wide-only">
          <Link to="/">{texts.flags.title}</Link> / <span className="soft">{flag.name}</span>
        </Row>
      }
      title={<Title stored={stored} />}
      actions={
        <EnvironmentChoice
          flag={draft.next.flag}
          environments={environments}
          environment={environment}
          onChange={(name) => goTo({ environment: name })}
        />
      }
    >
      <Tabs.Root value={tab} onValueChange={(next) => goTo({ tab: next })}>
        <Stack gap={24}>
          <Tabs.List ref={tabList} className="tabs row" aria-label={texts.flag.parts}>
            {tabs.map(([name, label]) => (
              <Tabs.Trigger key={name} value={name} data-tab={name} className="tab">
                {label}
              </Tabs.Trigger>
            ))}
          </Tabs.List>
          {tabs.map(([name, , content]) => (
            <Tabs.Content key={name} value={name}>
              {content}
            </Tabs.Content>
          ))}
        </Stack>
      </Tabs.Root>
      <DraftBar
        draft={draft}
        counted={counted}
        save={save}
        undo={undo}
        isShown={checks.isShown}
        onSave={submit}
        onShow={show}
        onFigures={() => setFiguresOpen(true)}
      />
      <FlagSwitchDialogs
        flag={isSwitching ? flag : undefined}
        environment={environment}
        onDraft={isUnsaved ? (enabled) => draft.set(settingCell(environment, "enabled"), enabled) : undefined}
        onClose={() => setSwitching(false)}
      />
      <Dialog open={areFiguresOpen} onClose={() => setFiguresOpen(false)} title={texts.draft.people}>
        <ImpactAside draft={draft} counted={counted} />
      </Dialog>
    </Page>
  );
}

function Title({ stored: { flag } }: { readonly stored: Stored }): ReactNode {
  const entry = useLastEntries().get(flag.id);
  return (
    <>
      <Row wrap>
        <h1>{flag.name}</h1>
        <CopyButton text={flag.key} />
      </Row>
      {flag.description !== undefined && <p className="soft wrap-anywhere">{flag.description}</p>}
      <Row gap={4} wrap className="caption muted">
        {entry && <ActorMark entry={entry} />}
        <span>
          {entry && `${actorName(entry)} · `}
          {texts.flag.changed} <Time at={entry?.at ?? flag.updatedAt} />
        </span>
      </Row>
    </>
  );
}

function CopyButton({ text }: { readonly text: string }): ReactNode {
  return (
    <button
      type="button"
      className={`${buttonClass("quiet", true)} code`}
      aria-label={`${texts.flag.copyKey}: ${text}`}
      onClick={() => void copyText(text)}
    >
      {text} <Copy aria-hidden size={13} />
    </button>
  );
}
