/** One person: every flag, its value and why, with overrides in place. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { SearchIcon, Split, UserPen, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { personQuery } from "../api/queries.ts";
import type { PersonFlag, PersonResponse } from "../api/types.ts";
import { OverrideForm, RemoveOverride } from "../flag/overrides-tab.tsx";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { List, Page, Row, Stack } from "../ui/layout.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { Value } from "../ui/value.tsx";

const route = getRouteApi("/people/$id");

export function PersonScreen(): ReactNode {
  const { id } = route.useParams();
  const { data, error, isPending, refetch } = useQuery(personQuery(id));
  if (data === undefined) {
    return (
      <Page title={texts.people.title} path={back}>
        {isPending ? <Loading /> : <Failure error={error} retry={() => void refetch()} />}
      </Page>
    );
  }
  return <PersonView {...data} />;
}

const back = (
  <Link to="/people" className="back">
    {texts.people.title}
  </Link>
);

function PersonView({ person, flags }: PersonResponse): ReactNode {
  const [sought, setSought] = useState("");
  const [edited, setEdited] = useState<PersonFlag>();
  const needle = sought.trim().toLowerCase();
  const shown = flags.filter(({ key, name }) => `${key} ${name}`.toLowerCase().includes(needle));
  const title = (
    <Row gap={12}>
      <Avatar name={person.name} large />
      <Stack gap={0} grow>
        <h1>{person.name}</h1>
        <p className="soft wrap-anywhere">
          {person.email} · {texts.people.since} <Time at={person.createdAt} />
        </p>
      </Stack>
    </Row>
  );
  return (
    <Page title={title} path={back}>
      <Stack gap={16}>
        <search className="row filters">
          <div className="inside search">
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
          <Empty title={texts.flags.noMatch} icon={<SearchIcon aria-hidden size={20} />} />
        ) : (
          <List columns="person">
            {shown.map((flag) => (
              <FlagOfPerson key={flag.id} flag={flag} userId={person.id} onOverride={() => setEdited(flag)} />
            ))}
          </List>
        )}
      </Stack>
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
    </Page>
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
    <li className="row-with-link">
      <Row>
        <Link to="/flag/$key" params={{ key: flag.key }} className="row-link cut">
          {flag.name}
        </Link>
        <span className="muted caption cut wide-only">{flag.key}</span>
      </Row>
      <Row wrap>
        <Value value={flag.value} />
        {flag.variant !== undefined && <span className="tag">{flag.variant}</span>}
        {flag.unknown && (
          <span className="tag tag-warn" title={texts.people.unknownHint}>
            {texts.people.unknown}
          </span>
        )}
      </Row>
      <span className={flag.reason === "override" ? "name" : "muted"}>{texts.reasons[flag.reason]}</span>
      <Row gap={2}>
        <Link
          to="/explain"
          search={{ flag: flag.key, user: userId }}
          className="icon-button"
          aria-label={texts.people.explain(flag.name)}
          title={texts.people.explain(flag.name)}
        >
          <Split aria-hidden size={16} />
        </Link>
        {may("override") &&
          (overrideId === undefined ? (
            <IconButton label={texts.people.override(flag.name)} onClick={onOverride}>
              <UserPen aria-hidden size={16} />
            </IconButton>
          ) : (
            <IconButton label={texts.people.removeOverride(flag.name)} onClick={() => setRemoving(true)}>
              <X aria-hidden size={16} />
            </IconButton>
          ))}
        {isRemoving && overrideId !== undefined && (
          <RemoveOverride id={overrideId} flagId={flag.id} onClose={() => setRemoving(false)} />
        )}
      </Row>
    </li>
  );
}
