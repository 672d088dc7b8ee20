import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useLocation } from "wouter";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { usePeek } from "../lib/chosen.ts";
import { useFilters } from "../lib/filters.ts";
import { watchHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { countText } from "../lib/units.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RowLink } from "../parts/row-link.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { Result } from "./watches/result.tsx";
import { WatchForm } from "./watches/watch-form.tsx";
import { WatchPanel } from "./watches/watch-panel.tsx";
import { scheduleText } from "./watches/watch-words.ts";

const example = () =>
  `curl -sS ${location.origin}/watches -H 'content-type: application/json' ` +
  `-d '{"url": "https://example.com/", "cron": "0 7 * * *"}'`;

const COLUMNS: Column<Watch>[] = [
  {
    key: "result",
    title: "Last result",
    width: "118px",
    cell: (watch) => <Result watch={watch} />,
  },
  {
    key: "name",
    title: "Watch",
    width: "minmax(120px, 2fr)",
    cell: ({ watch_id, name, url }) => (
      <RowLink href={watchHref(watch_id)}>
        <Clip text={name || url} />
      </RowLink>
    ),
  },
  {
    key: "url",
    title: "Address",
    width: "minmax(120px, 2fr)",
    from: "lg",
    cell: ({ url }) => <Clip text={url} />,
  },
  {
    key: "schedule",
    title: "Schedule",
    width: "minmax(110px, 1fr)",
    from: "md",
    cell: (watch) => <Clip text={scheduleText(watch)} />,
  },
  {
    key: "last",
    title: "Captured",
    width: "100px",
    from: "sm",
    cell: ({ last }) => <Ago at={last?.at} />,
  },
  {
    key: "change",
    title: "Last change",
    width: "100px",
    from: "sm",
    cell: ({ last_change }) => <Ago at={last_change?.at} />,
  },
  { key: "next", title: "Next", width: "84px", cell: ({ next_at }) => <Ago at={next_at} /> },
  {
    key: "changes",
    title: "Changes",
    width: "84px",
    from: "md",
    align: "end",
    cell: ({ changes }) => countText(changes),
  },
];

/** Pages that are captured again and again; whether the form of a new one is open is in the address. */
export function Page() {
  const [{ add }, set] = useFilters({ add: "" });
  const [, navigate] = useLocation();
  const query = useGet("/watches");
  const { chosen, choose, close } = usePeek();
  const shown = query.data?.watches.find(({ watch_id }) => watch_id === chosen);
  const create = () => set({ add: "yes" }, { push: true });
  if (add !== "")
    return (
      <>
        <PageHead
          title="New schedule"
          crumbs={[{ title: "Schedules", href: "/ui/captures/schedules" }]}
        />
        <WatchForm onDone={(id) => navigate(id ? watchHref(id) : "/ui/captures/schedules")} />
      </>
    );
  return (
    <>
      <PageHead
        title="Schedules"
        note="Pages that are captured on a schedule and compared each time."
      >
        <Button leftSection={<IconPlus size={16} />} onClick={create}>
          New watch
        </Button>
      </PageHead>
      <Beside
        name="watches"
        title={shown ? shown.name || shown.url : ""}
        detail={shown && <WatchPanel key={chosen} watch={shown} />}
        onClose={close}
      >
        <Loadable query={query}>
          {({ watches }) =>
            watches.length === 0 ? (
              <Empty title="There are no watches yet" command={example()}>
                A watch captures a page again and again and tells what has changed.
              </Empty>
            ) : (
              <DataTable
                label="Watches"
                columns={COLUMNS}
                rows={watches}
                rowKey={({ watch_id }) => watch_id}
                href={({ watch_id }) => watchHref(watch_id)}
                current={chosen}
                onOpen={choose && (({ watch_id }) => choose(watch_id))}
              />
            )
          }
        </Loadable>
      </Beside>
    </>
  );
}
