/** One flag: its switch, and its parts in tabs. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Copy, Split } from "lucide-react";
import { Tabs } from "radix-ui";
import { type ReactNode, useEffect, useRef } from "react";
import { FlagActivity } from "../activity/flag-activity.tsx";
import { flagQuery } from "../api/queries.ts";
import { isStatus } from "../api/request.ts";
import type { Flag } from "../api/types.ts";
import { FlagHistory } from "../history/history-screen.tsx";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toasts.tsx";
import { TypeIcon } from "../ui/type-icon.tsx";
import { EnvironmentsTab } from "./environments-tab.tsx";
import { FlagSwitch } from "./flag-switch.tsx";
import { OverridesTab } from "./overrides-tab.tsx";
import { SettingsTab } from "./settings-tab.tsx";
import { TargetingTab } from "./targeting-tab.tsx";

const route = getRouteApi("/flag/$key");

export function FlagScreen(): ReactNode {
  const { key } = route.useParams();
  const { data: flag, error, isPending, refetch } = useQuery(flagQuery(key));
  if (isPending) return <Loading />;
  // Another person may delete the flag while it is shown.
  if (flag === undefined || isStatus(error, 404)) {
    if (!isStatus(error, 404)) return <Failure error={error} retry={() => void refetch()} />;
    return (
      <Empty title={texts.flag.missing(key)}>
        <Link to="/" className="button">
          {texts.errors.toFlags}
        </Link>
      </Empty>
    );
  }
  return <FlagView flag={flag} />;
}

function FlagView({ flag }: { flag: Flag }): ReactNode {
  const { tab = "targeting" } = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${flag.name} · ${texts.product}`;
    return () => {
      document.title = texts.product;
    };
  }, [flag.name]);
  const tabs: [string, string, ReactNode][] = [
    ["targeting", texts.flag.tabs.targeting, <TargetingTab key={flag.id} flag={flag} />],
    ["environments", texts.flag.tabs.environments, <EnvironmentsTab key={flag.id} flag={flag} />],
    ["overrides", texts.flag.tabs.overrides, <OverridesTab key={flag.id} flag={flag} />],
    ["activity", texts.flag.tabs.activity, <FlagActivity key={flag.id} flag={flag} />],
    ...(may("audit")
      ? [
          ["history", texts.flag.tabs.history, <FlagHistory key={flag.id} flag={flag} />] as [
            string,
            string,
            ReactNode,
          ],
        ]
      : []),
    ["settings", texts.flag.tabs.settings, <SettingsTab key={flag.id} flag={flag} />],
  ];
  return (
    <div className="page stack gap-16">
      <Link to="/" className="back">
        {texts.flags.title}
      </Link>
      <header className="screen-header flag-header">
        <div className="flag-title">
          <h1 ref={heading}>{flag.name}</h1>
          <p className="flag-key">
            <TypeIcon type={flag.type} />
            <code>{flag.key}</code>
            <CopyButton text={flag.key} />
            <span className="muted">
              {texts.flag.changed} <Time at={flag.updatedAt} />
            </span>
          </p>
          {flag.description !== undefined && <p className="flag-description">{flag.description}</p>}
        </div>
        <div className="flag-state">
          <Link to="/explain" search={{ flag: flag.key }} className="button">
            <Split aria-hidden size={16} /> {texts.nav.explain}
          </Link>
          <div className={flag.enabled ? "state-box state-on" : "state-box"}>
            <span>{flag.enabled ? texts.flags.on : texts.flags.off}</span>
            <FlagSwitch flag={flag} />
          </div>
        </div>
      </header>
      <Tabs.Root
        value={tab}
        onValueChange={(next) =>
          void navigate({ search: next === "targeting" ? {} : { tab: next }, replace: true })
        }
      >
        <Tabs.List className="tabs" aria-label={texts.flag.parts}>
          {tabs.map(([name, label]) => (
            <Tabs.Trigger key={name} value={name} className="tab">
              {label}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {tabs.map(([name, , content]) => (
          <Tabs.Content key={name} value={name} className="tab-content">
            {content}
          </Tabs.Content>
        ))}
      </Tabs.Root>
    </div>
  );
}

function CopyButton({ text }: { text: string }): ReactNode {
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    showToast({ tone: "done", text: texts.common.copied });
  };
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={texts.flag.copyKey}
      onClick={() => void copy().catch(() => showToast({ tone: "problem", text: texts.common.notCopied }))}
    >
      <Copy aria-hidden size={14} />
    </button>
  );
}
