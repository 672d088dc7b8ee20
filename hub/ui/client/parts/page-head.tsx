import { ActionIcon, Tooltip } from "@mantine/core";
import { IconArrowLeft, IconChevronRight, IconHelp } from "@tabler/icons-react";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { useAround } from "./around.ts";
import { type MoreAction, MoreMenu } from "./more-menu.tsx";

interface PageHeadProps {
  title: string;
  /** Pages above this one, from the top. */
  crumbs?: { title: string; href: string }[];
  /** Before the title. */
  icon?: ReactNode;
  /** How many there are, beside the title. */
  count?: ReactNode;
  /** One line below. */
  note?: ReactNode;
  /** Beside the title. */
  badges?: ReactNode;
  /** Up to three plain buttons. */
  children?: ReactNode;
  /** The one thing to do here, at the end of the line. */
  primary?: ReactNode;
  /** What is done seldom. */
  more?: MoreAction[];
  /** Below the line: views or tabs, as elements of the class `page-tab`. */
  tabs?: ReactNode;
  /** Small and on one line, above what needs the height. */
  slim?: boolean;
}

/** Link to the guide's page for this one; the server serves the guide, not the app. */
function Guide({ href }: { href: string }) {
  return (
    <Tooltip label="What the guide says about this page">
      <ActionIcon
        component="a"
        href={href}
        target="_blank"
        size="lg"
        variant="subtle"
        color="gray"
        aria-label="Guide"
      >
        <IconHelp size={18} stroke={1.75} />
      </ActionIcon>
    </Tooltip>
  );
}

/** The page above this one, where there is no room for its name. */
function Back({ title, href }: { title: string; href: string }) {
  return (
    <Link className="page-back" href={href} aria-label={`Back to ${title}`}>
      <IconArrowLeft size={20} stroke={1.75} aria-hidden />
    </Link>
  );
}

function Crumbs({ crumbs }: { crumbs: { title: string; href: string }[] }) {
  if (crumbs.length === 0) return null;
  return (
    <nav className="page-crumbs" aria-label="Breadcrumb">
      {crumbs.map(({ title, href }) => (
        <span key={href} className="page-crumbs">
          <Link className="page-crumb" href={href}>
            {title}
          </Link>
          <IconChevronRight size={16} aria-hidden />
        </span>
      ))}
    </nav>
  );
}

/** Head of every page: its title, one primary action, plain ones, the rest in a menu. Names the tab of the browser too. */
export function PageHead(props: PageHeadProps) {
  const { title, crumbs = [], icon, count, note, badges, children, primary, more = [] } = props;
  const above = crumbs.at(-1);
  const { guide, home, find, pages } = useAround();
  useEffect(() => {
    document.title = `${title} · Flotilla`;
  }, [title]);
  return (
    <>
      <header className="page-head" data-slim={props.slim || undefined}>
        <div className="page-bar">
          {home}
          {props.slim && above && <Back title={above.title} href={above.href} />}
          <div className="page-names">
            <Crumbs crumbs={crumbs} />
            <h1 className="page-title" title={props.slim ? title : undefined}>
              {icon}
              {title}
            </h1>
            {count !== undefined && <span className="page-count">{count}</span>}
            {badges}
          </div>
          <div className="page-actions">
            {children}
            {primary}
            <MoreMenu actions={more} />
            {find}
            <Guide href={guide} />
          </div>
        </div>
        {props.tabs}
        {pages}
      </header>
      {note && <div className="page-note">{note}</div>}
    </>
  );
}
