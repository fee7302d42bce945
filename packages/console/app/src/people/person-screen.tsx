/** One person: every flag, its value and why, with overrides in place. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ArrowLeft, CircleHelp, SearchIcon, Split, UserPen, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { personQuery } from "../api/queries.ts";
import type { PersonFlag, PersonResponse } from "../api/types.ts";
import { OverrideForm, RemoveOverride } from "../flag/overrides-tab.tsx";
import { TypeIcon } from "../flags/flag-row.tsx";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { Value } from "../ui/value.tsx";

const route = getRouteApi("/people/$id");

export function PersonScreen(): ReactNode {
  const { id } = route.useParams();
  const { data, error, isPending, refetch } = useQuery(personQuery(id));
  return (
    <>
      <Link to="/people" className="back">
        <ArrowLeft aria-hidden size={15} /> {texts.people.title}
      </Link>
      {isPending ? (
        <Loading />
      ) : data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : (
        <PersonView {...data} />
      )}
    </>
  );
}

function PersonView({ person, flags }: PersonResponse): ReactNode {
  const [sought, setSought] = useState("");
  const [edited, setEdited] = useState<PersonFlag>();
  const needle = sought.trim().toLowerCase();
  const shown = flags.filter(({ key, name }) => `${key} ${name}`.toLowerCase().includes(needle));
  return (
    <>
      <header className="screen-header">
        <div className="person-header">
          <Avatar name={person.name} />
          <div>
            <h1>{person.name}</h1>
            <p className="muted">
              {person.email} · <code>{person.id}</code> · {texts.people.since} <Time at={person.createdAt} />
            </p>
          </div>
        </div>
      </header>
      <search className="filters">
        <div className="search">
          <SearchIcon aria-hidden size={16} />
          <input
            type="search"
            aria-label={texts.flags.search}
            placeholder={texts.flags.search}
            value={sought}
            onChange={({ target }) => setSought(target.value)}
          />
        </div>
      </search>
      {shown.length === 0 ? (
        <Empty title={texts.flags.noMatch} />
      ) : (
        <ul className="list">
          {shown.map((flag) => (
            <FlagOfPerson key={flag.id} flag={flag} userId={person.id} onOverride={() => setEdited(flag)} />
          ))}
        </ul>
      )}
      <Dialog
        open={edited !== undefined}
        onClose={() => setEdited(undefined)}
        title={edited === undefined ? "" : texts.people.overrideTitle(edited.name, person.name)}
      >
        {edited && (
          <OverrideForm
            flag={edited}
            person={person}
            value={edited.type === "boolean" ? edited.value !== true : edited.value}
            onClose={() => setEdited(undefined)}
          />
        )}
      </Dialog>
    </>
  );
}

interface FlagOfPersonProps {
  readonly flag: PersonFlag;
  readonly userId: string;
  readonly onOverride: () => void;
}

function FlagOfPerson({ flag, userId, onOverride }: FlagOfPersonProps): ReactNode {
  const may = useMay();
  const [isRemoving, setRemoving] = useState(false);
  const { overrideId } = flag;
  return (
    <li className="list-row">
      <span className="list-main">
        <Link to="/flag/$key" params={{ key: flag.key }}>
          {flag.name}
        </Link>
        <span className="flag-key">
          <TypeIcon type={flag.type} />
          <code>{flag.key}</code>
        </span>
      </span>
      <span className="person-value">
        <Value value={flag.value} />
        {flag.variant !== undefined && <span className="badge">{flag.variant}</span>}
        {flag.unknown && (
          <span className="badge badge-warning" title={texts.people.unknownHint}>
            <CircleHelp aria-hidden size={12} /> {texts.people.unknown}
          </span>
        )}
      </span>
      <span className={`reason reason-${flag.reason}`}>{texts.reasons[flag.reason]}</span>
      <span className="row-actions">
        <Link
          to="/explain"
          search={{ flag: flag.key, user: userId }}
          className="icon-button"
          aria-label={texts.people.explain(flag.name)}
        >
          <Split aria-hidden size={16} />
        </Link>
        {may("override") &&
          (overrideId === undefined ? (
            <button
              type="button"
              className="icon-button"
              aria-label={texts.people.override(flag.name)}
              onClick={onOverride}
            >
              <UserPen aria-hidden size={16} />
            </button>
          ) : (
            <button
              type="button"
              className="icon-button"
              aria-label={texts.people.removeOverride(flag.name)}
              onClick={() => setRemoving(true)}
            >
              <X aria-hidden size={16} />
            </button>
          ))}
        {isRemoving && overrideId !== undefined && (
          <RemoveOverride id={overrideId} flagId={flag.id} onClose={() => setRemoving(false)} />
        )}
      </span>
    </li>
  );
}
