import { Button } from "@mantine/core";
import {
  IconClockExclamation,
  IconDatabase,
  IconLogin,
  IconPlayerPause,
  IconPlugConnectedX,
  IconPlugOff,
  IconWorldX,
} from "@tabler/icons-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { OPEN_MS } from "../fleet/session/new-session.ts";
import { call } from "../lib/http.ts";
import { sessionHref } from "../lib/links.ts";
import { useChange } from "../lib/query.ts";
import { dayClockText } from "../lib/units.ts";
import type { HomeProblem } from "./problems.ts";

const ICONS = {
  broken: IconPlugConnectedX,
  login: IconLogin,
  disk: IconDatabase,
  worker: IconPlugOff,
  host: IconWorldX,
  queue: IconClockExclamation,
  paused: IconPlayerPause,
};
/** More at once are not read: they are there on request. */
const SHOWN = 5;

const sinceText = (at: string): string => `since ${dayClockText(new Date(at), new Date())}`;

function Activate({ label, activate }: { label: string; activate: string }) {
  const change = useChange(
    (id: string) =>
      call("POST /workers/{id}/status", { params: { id }, json: { status: "active" } }),
    { failed: "The worker was not made active" },
  );
  return (
    <Button
      size="xs"
      variant="default"
      loading={change.isPending}
      onClick={() => change.mutate(activate)}
    >
      {label}
    </Button>
  );
}

/** Opens the page on a lane and goes there. */
function Drive({ label, drive }: { label: string; drive: string }) {
  const [, navigate] = useLocation();
  const open = useChange(
    (url: string) => call("POST /sessions", { json: { url }, timeout_ms: OPEN_MS }),
    {
      failed: "The session was not opened",
      onDone: ({ session_id }) => navigate(sessionHref(session_id)),
    },
  );
  return (
    <Button size="xs" variant="default" loading={open.isPending} onClick={() => open.mutate(drive)}>
      {label}
    </Button>
  );
}

function Action({ action }: Pick<HomeProblem, "action">) {
  if ("activate" in action) return <Activate {...action} />;
  if ("drive" in action) return <Drive {...action} />;
  // The guide is served, and no page of the app.
  if (action.href.startsWith("/guide"))
    return (
      <Button size="xs" variant="default" component="a" href={action.href} target="_blank">
        {action.label}
      </Button>
    );
  return (
    <Button size="xs" variant="default" component={Link} href={action.href}>
      {action.label}
    </Button>
  );
}

function Problem({ one }: { one: HomeProblem }) {
  const Icon = ICONS[one.icon];
  const when = [one.note, one.since && sinceText(one.since)].filter(Boolean).join(" · ");
  return (
    <li className="home-problem" data-severity={one.severity}>
      <Icon size={18} stroke={1.75} aria-label={one.severity === "bad" ? "Broken" : "Warning"} />
      <p className="home-problem-text" title={`${one.title}: ${one.detail}`}>
        <b>{one.title}</b>
        <span className="home-problem-detail">
          <span className="home-dash"> — </span>
          {one.detail}
        </span>
      </p>
      {when !== "" && <span className="home-problem-when">{when}</span>}
      <Action action={one.action} />
    </li>
  );
}

/** Problems before numbers; nothing at all where there are none. */
export function ProblemList({ problems }: { problems: readonly HomeProblem[] }) {
  const [all, setAll] = useState(false);
  if (problems.length === 0) return null;
  const shown = all ? problems : problems.slice(0, SHOWN);
  return (
    <section className="home-card home-problems" aria-label="Needs attention">
      <ul>
        {shown.map((one) => (
          <Problem key={one.key} one={one} />
        ))}
      </ul>
      {shown.length < problems.length && (
        <button type="button" className="home-all" onClick={() => setAll(true)}>
          Show {problems.length - shown.length} more
        </button>
      )}
    </section>
  );
}
