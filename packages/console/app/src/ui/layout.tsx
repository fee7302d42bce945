/** Where things stand. Screens and parts are built from these, so that edges and gaps agree everywhere. */
import { type CSSProperties, createContext, type ReactNode, type Ref, useContext } from "react";
import { createPortal } from "react-dom";

/** Pixels, from the scale of the tokens. */
export type Gap = 0 | 2 | 4 | 8 | 12 | 16 | 24 | 32;

interface BoxProps {
  readonly gap?: Gap;
  readonly align?: "start" | "end";
  readonly wrap?: boolean;
  /** The first child at one end, the last at the other. */
  readonly between?: boolean;
  /** Takes the space that is left in a row. */
  readonly grow?: boolean;
  readonly className?: string;
  readonly children?: ReactNode;
}

function classOf(name: string, { gap = 8, align, wrap, between, grow, className }: BoxProps): string {
  return classes(
    name,
    gap !== 8 && `gap-${gap}`,
    align && `align-${align}`,
    wrap && "wrap",
    between && "between",
    grow && "grow",
    className,
  );
}

/** Joins the names that are set. */
export function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

/** One below the other. */
export function Stack(props: BoxProps): ReactNode {
  return <div className={classOf("stack", props)}>{props.children}</div>;
}

/** One beside the other. */
export function Row(props: BoxProps): ReactNode {
  return <div className={classOf("row", props)}>{props.children}</div>;
}

/** Equal columns, as many as fit. `wide`: at least 16 rem each, otherwise 12. */
export function Grid({
  wide = false,
  children,
}: {
  readonly wide?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return <div className={classes("grid", wide && "grid-wide")}>{children}</div>;
}

interface PageProps {
  readonly title: ReactNode;
  /** A sentence below the title. */
  readonly what?: ReactNode;
  readonly path?: ReactNode;
  readonly actions?: ReactNode;
  /** For tables. */
  readonly wide?: boolean;
  readonly children?: ReactNode;
}

/** A screen: its title, its actions, and below them its content. */
export function Page({ title, what, path, actions, wide = false, children }: PageProps): ReactNode {
  return (
    <div className={classes("page", wide && "page-wide")}>
      <Stack gap={24}>
        <header>
          {path}
          <Row between wrap align="start" gap={16}>
            <Stack gap={2} grow>
              {typeof title === "string" ? <h1>{title}</h1> : title}
              {what && <p className="soft">{what}</p>}
            </Stack>
            {actions && <Row wrap>{actions}</Row>}
          </Row>
        </header>
        {children}
      </Stack>
    </div>
  );
}

/** The main part, and beside it an aside that stays in view. A narrow page stacks them. */
export function Split({
  label,
  aside,
  children,
}: {
  /** Of the aside. */
  readonly label: string;
  readonly aside: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className="split">
      <div>{children}</div>
      <aside className="aside" aria-label={label}>
        {aside}
      </aside>
    </div>
  );
}

interface PanelProps {
  readonly label?: string;
  readonly padded?: boolean;
  /** `edited`: differs from what is stored. `bad`: for what cannot be taken back. */
  readonly tone?: "edited" | "bad" | undefined;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Panel({ label, padded = false, tone, className, children }: PanelProps): ReactNode {
  return (
    <section
      className={classes("panel", padded && "panel-padded", tone && `panel-${tone}`, className)}
      aria-label={label}
    >
      {children}
    </section>
  );
}

/** Where the shell shows the bar: below the screen, above nothing. */
export const BarSlot = createContext<HTMLElement | null>(null);

/** Stays at the lower edge of the window. A screen has one at a time. */
export function Bar({
  label,
  alert = false,
  children,
}: {
  readonly label: string;
  /** Screen readers announce it at once. */
  readonly alert?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const slot = useContext(BarSlot);
  return (
    slot &&
    createPortal(
      <section className="bar row wrap" aria-label={label} {...(alert && { role: "alert" })}>
        {children}
      </section>,
      slot,
    )
  );
}

interface ListProps {
  readonly label?: string;
  /** The name of the widths in screens.css. */
  readonly columns: string;
  /** On a phone each row is a card. */
  readonly cards?: boolean;
  readonly children: ReactNode;
}

/** Rows with a line between them. Its children are `li`. */
export function List({ label, columns, cards = false, children }: ListProps): ReactNode {
  return (
    <ul className={classes("list", `columns-${columns}`, cards && "list-cards")} aria-label={label}>
      {children}
    </ul>
  );
}

/** Steps in the order of the decision, joined by a line. */
export function Path({
  label,
  children,
}: {
  readonly label?: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <ol className="path" aria-label={label}>
      {children}
    </ol>
  );
}

export type PathState = "edited" | "passed" | "decided";

interface PathStepProps {
  /** A `PathNode`, or a button with the class `path-node`. */
  readonly node: ReactNode;
  readonly state?: PathState | undefined;
  /** The line below it is dashed: it decides nothing. */
  readonly isOff?: boolean;
  readonly ref?: Ref<HTMLLIElement>;
  readonly style?: CSSProperties;
  readonly children: ReactNode;
}

export function PathStep({ node, state, isOff = false, ref, style, children }: PathStepProps): ReactNode {
  return (
    <li
      className={classes("path-step", state && `path-${state}`, isOff && "path-off")}
      ref={ref}
      style={style}
    >
      {node}
      <div>{children}</div>
    </li>
  );
}

/** The node of a step that cannot be pressed. */
export function PathNode({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <span className="path-node" aria-hidden="true">
      {children}
    </span>
  );
}
