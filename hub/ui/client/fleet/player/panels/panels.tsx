import { Switch, Tabs } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { countText } from "../../../lib/units.ts";
import { countUpTo } from "../model/moment.ts";
import { MomentList, type MomentRow } from "./moment-list.tsx";

interface PanelsProps {
  acts: ReactNode;
  act_count: number;
  requests: readonly MomentRow[];
  console: readonly MomentRow[];
  log: readonly MomentRow[];
  ms: number;
  onSeek: (ms: number) => void;
  /** Kinds of events that this run could not hear. */
  unheard: readonly string[];
  /** Why there are no requests. */
  no_requests: string;
}

/** What happened beside the picture: each list up to the moment, or whole. */
export function Panels(props: PanelsProps) {
  const { acts, act_count, ms, onSeek, no_requests } = props;
  const [opened, setOpened] = useState<string | null>("acts");
  const [whole, setWhole] = useState(false);
  const lists = [
    { name: "requests", title: "Requests", rows: props.requests, empty: no_requests },
    {
      name: "console",
      title: "Console",
      rows: props.console,
      empty: noConsoleText(props.unheard),
    },
    { name: "log", title: "Log", rows: props.log, empty: "Nothing has happened by then." },
  ];
  return (
    <Tabs value={opened} onChange={setOpened} keepMounted={false} className="player-panels">
      <Tabs.List className="job-tabs">
        <Tabs.Tab value="acts">Actions ({countText(act_count)})</Tabs.Tab>
        {lists.map(({ name, title, rows }) => (
          <Tabs.Tab key={name} value={name}>
            {title} ({countText(rows.length)})
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="acts">{acts}</Tabs.Panel>
      {lists.map(({ name, title, rows, empty }) => (
        <Tabs.Panel key={name} value={name}>
          <Switch
            size="xs"
            my={6}
            label="Also what comes later"
            checked={whole}
            onChange={(event) => setWhole(event.currentTarget.checked)}
          />
          <Filtered {...{ title, rows, empty, ms, onSeek, whole }} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

const noConsoleText = (unheard: readonly string[]): string =>
  unheard.length === 0
    ? "The page has said nothing by then."
    : `Nothing was heard by then. This run cannot hear ${unheard.join(", ")} without its page noticing.`;

interface FilteredProps {
  title: string;
  rows: readonly MomentRow[];
  empty: string;
  ms: number;
  onSeek: (ms: number) => void;
  whole: boolean;
}

function Filtered({ title, rows, empty, ms, onSeek, whole }: FilteredProps) {
  const count = whole ? rows.length : countUpTo(rows, ms);
  const shown = useMemo(() => rows.slice(0, count), [rows, count]);
  return <MomentList label={title} rows={shown} ms={ms} onSeek={onSeek} empty={empty} />;
}
