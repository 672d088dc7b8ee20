import { Anchor, Button, Code, Group, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconRefresh, IconSearch } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { countText } from "../lib/units.ts";
import { useWho } from "../lib/use-who.ts";
import { useBesideRoom } from "../parts/beside/use-beside-room.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { MoreMenu } from "../parts/more-menu.tsx";
import { Ago } from "../parts/text.tsx";
import { ActDialog } from "./act-dialog.tsx";
import { type Act, type Action, HOURS, whyNotAct } from "./acting.ts";
import { Trend } from "./trend.tsx";

/** A group of failures, of the pipeline or of the fleet. */
export interface ShownGroup {
  fingerprint: string;
  kind: string;
  message: string;
  count: number;
  trend: number[];
  first_seen: string;
  last_seen: string;
  /** Workloads or hosts. */
  places: string[];
  workers: string[];
  traceback: string | null;
  /** The newest one. */
  example: { label: string; href: string; at: string } | null;
  /** All of them, as a list. */
  href: string;
}

interface Filters {
  text: string;
  hours: string;
}

/** A text and a time; `children` are further filters. */
export function GroupFilters({
  filters,
  set,
  children,
}: {
  filters: Filters;
  set: (changed: Partial<Filters>) => void;
  children?: ReactNode;
}) {
  const [text, setText] = useState(filters.text);
  const later = useDebouncedCallback((next: string) => set({ text: next.trim() }), 300);
  return (
    <Group align="flex-end" gap="sm" mb="sm">
      <TextInput
        label="Error has"
        data-filter
        leftSection={<IconSearch size={14} aria-hidden />}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          later(event.currentTarget.value);
        }}
      />
      {children}
      <Select
        label="Time"
        w={150}
        allowDeselect={false}
        data={HOURS}
        value={filters.hours}
        onChange={(hours) => set({ hours: hours ?? "24" })}
      />
    </Group>
  );
}

const COLUMNS: Column<ShownGroup>[] = [
  {
    key: "what",
    title: "What failed",
    width: "minmax(160px, 4fr)",
    cell: ({ kind, message }) => (
      <>
        <b className="clip">{kind}</b>
        <span className="clip" title={message}>
          {message}
        </span>
      </>
    ),
  },
  {
    key: "count",
    title: "Times",
    width: "72px",
    align: "end",
    cell: ({ count }) => countText(count),
  },
  {
    key: "trend",
    title: "When",
    width: "112px",
    from: "sm",
    cell: ({ trend }) => <Trend counts={trend} />,
  },
  {
    key: "first",
    title: "First seen",
    width: "112px",
    align: "end",
    from: "md",
    cell: ({ first_seen }) => <Ago at={first_seen} />,
  },
  {
    key: "last",
    title: "Last seen",
    width: "112px",
    align: "end",
    cell: ({ last_seen }) => <Ago at={last_seen} />,
  },
];

/** What can be done about a group beside a retry, with the words of its place in the menu. */
export interface Offer {
  action: Action;
  label: string;
}

interface DetailProps {
  group: ShownGroup;
  what: "task" | "capture";
  offers: readonly Offer[];
  act: Act;
  targets?: string[] | undefined;
}

/** One traceback open, where it happened, and what can be done about all of them. */
function Detail({ group, what, offers, act, targets = [] }: DetailProps) {
  const [action, setAction] = useState<Action | null>(null);
  const name = [what, group.fingerprint, ...group.places];
  const refused = whyNotAct(useWho());
  const more = offers.map(({ action: one, label }) => ({
    label,
    onClick: () => setAction(one),
    danger: one === "delete",
  }));
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Title order={2} size="h4" className="wrap">
          {group.kind}
        </Title>
        <Group gap={4} wrap="nowrap">
          <Button
            leftSection={<IconRefresh size={16} aria-hidden />}
            disabled={refused !== null}
            onClick={() => setAction("retry")}
          >
            Retry…
          </Button>
          {refused === null && <MoreMenu actions={more} label={`More for these ${what}s`} />}
        </Group>
      </Group>
      {refused !== null && (
        <Text size="sm" c="dimmed">
          {refused}
        </Text>
      )}
      <Text size="sm" className="wrap">
        {group.message}
      </Text>
      <Code block className="wrap" data-traceback tabIndex={0}>
        {group.traceback ?? "The newest one was just deleted."}
      </Code>
      {group.example && (
        <Text size="sm">
          Newest:{" "}
          <Anchor component={Link} underline="always" href={group.example.href}>
            {group.example.label}
          </Anchor>
          , <Ago at={group.example.at} />
        </Text>
      )}
      <Text size="sm">
        In {group.places.join(", ")}
        {group.workers.length > 0 && ` on ${group.workers.join(", ")}`}
      </Text>
      <Anchor component={Link} href={group.href} size="sm">
        All of this group
      </Anchor>
      <ActDialog
        action={action}
        what={what}
        name={name}
        act={act}
        targets={targets}
        onClose={() => setAction(null)}
      />
    </Stack>
  );
}

interface GroupPanelsProps extends Omit<DetailProps, "group" | "offers" | "act"> {
  groups: ShownGroup[];
  offers: (group: ShownGroup) => readonly Offer[];
  /** Fingerprint of the group that is open; "": the first, where it has its place beside the list. */
  chosen: string;
  choose: (fingerprint: string) => void;
  act: (group: ShownGroup) => Act;
  /** Only failures from then on are counted. */
  counted_since: string | null;
}

/** Groups on the left, the open one on the right. */
export function GroupPanels(props: GroupPanelsProps) {
  const { groups, chosen, choose, offers, act, counted_since, ...rest } = props;
  // A drawer covers the list, so only who chose a group gets it.
  const roomy = useBesideRoom();
  const found = groups.find(({ fingerprint }) => fingerprint === chosen);
  const open = found ?? (roomy ? groups[0] : undefined);
  return (
    <Beside
      name={`failures-${rest.what}`}
      title="Failure"
      detail={
        open && (
          <Detail
            key={open.fingerprint}
            {...rest}
            group={open}
            offers={offers(open)}
            act={act(open)}
          />
        )
      }
      onClose={roomy ? undefined : () => choose("")}
    >
      <DataTable
        label="Failures"
        media
        columns={COLUMNS}
        rows={groups}
        rowKey={({ fingerprint }) => fingerprint}
        current={open?.fingerprint}
        onOpen={({ fingerprint }) => choose(fingerprint)}
      />
      {counted_since !== null && (
        <Text size="sm" c="dimmed" mt="xs" role="status">
          There are very many: those before <Ago at={counted_since} /> are not counted. A shorter
          time shows all.
        </Text>
      )}
    </Beside>
  );
}
