import { Anchor, Button, Group, Stack, Title } from "@mantine/core";
import { IconCamera } from "@tabler/icons-react";
import { Link, useLocation } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { useFilters } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { differenceHref, jobHref } from "../lib/links.ts";
import { useChange, useGet } from "../lib/query.ts";
import { ConfirmButton } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { cursorOf, Pager } from "../parts/pager.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { Picture, Size, Target } from "./jobs/columns.tsx";
import { CaptureResult, Result } from "./watches/result.tsx";
import { WatchFacts } from "./watches/watch-facts.tsx";
import { WatchForm } from "./watches/watch-form.tsx";
import { changesText } from "./watches/watch-words.ts";

const LIMIT = 50;

function Difference({ job: { job_id, changes } }: { job: Job }) {
  if (changes === null) return <>–</>;
  return (
    <Anchor
      component={Link}
      size="sm"
      href={differenceHref(changes.against, job_id)}
      aria-label={`Difference of capture ${job_id}`}
    >
      Difference
    </Anchor>
  );
}

/** Page, result, what it is compared with, or else its size, and age in one cell, where there is no room for columns. */
const Card = ({ job }: { job: Job }) => (
  <span className="job-card">
    <Target job={job} />
    <span className="job-card-foot">
      <CaptureResult job={job} />
      <span className="job-card-facts">
        {job.changes === null ? <Size job={job} /> : <Difference job={job} />}
        {" · "}
        <Ago at={job.created_at} />
      </span>
    </span>
  </span>
);

const COLUMNS: Column<Job>[] = [
  { key: "picture", title: "", width: "86px", cell: (job) => <Picture job={job} /> },
  {
    key: "card",
    title: "Page",
    width: "minmax(0, 1fr)",
    below: "sm",
    cell: (job) => <Card job={job} />,
  },
  {
    key: "page",
    title: "Page",
    width: "minmax(140px, 2fr)",
    from: "sm",
    cell: (job) => <Target job={job} />,
  },
  {
    key: "at",
    title: "Captured",
    width: "104px",
    from: "sm",
    cell: (job) => <Ago at={job.created_at} />,
  },
  {
    key: "result",
    title: "Result",
    width: "118px",
    from: "sm",
    cell: (job) => <CaptureResult job={job} />,
  },
  {
    key: "what",
    title: "What changed",
    width: "minmax(100px, 2fr)",
    from: "sm",
    cell: ({ changes, error }) => <Clip text={changes ? changesText(changes) : error} />,
  },
  {
    key: "size",
    title: "Size",
    width: "84px",
    align: "end",
    from: "md",
    cell: (job) => <Size job={job} />,
  },
  {
    key: "diff",
    title: "Compared",
    width: "100px",
    align: "end",
    from: "sm",
    cell: (job) => <Difference job={job} />,
  },
];

/** Its captures, the newest first. */
function Captures({ watch_id }: { watch_id: string }) {
  const [{ page, changed }, set] = useFilters({ page: "", changed: "" });
  const query = useGet("/jobs", {
    query: {
      watch: watch_id,
      changed: changed === "" ? null : "true",
      limit: LIMIT,
      cursor: cursorOf(page),
    },
  });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Captures
        </Title>
        <Button
          size="compact-sm"
          variant={changed === "" ? "default" : "light"}
          aria-pressed={changed !== ""}
          onClick={() => set({ changed: changed === "" ? "yes" : "", page: "" })}
        >
          Only changed ones
        </Button>
      </Group>
      <Loadable query={query}>
        {({ jobs, next_cursor }) => (
          <>
            {jobs.length > 0 ? (
              <DataTable
                label="Captures"
                media
                columns={COLUMNS}
                rows={jobs}
                rowKey={({ job_id }) => job_id}
                href={({ job_id }) => jobHref(job_id)}
              />
            ) : (
              <Empty
                title={changed === "" ? "There are no captures yet" : "No capture had changed"}
              />
            )}
            <Pager
              trail={page}
              next={next_cursor}
              shown={jobs.length}
              onGo={(trail) => set({ page: trail }, { push: true })}
            />
          </>
        )}
      </Loadable>
    </Stack>
  );
}

function Actions({ watch, onEdit }: { watch: Watch; onEdit: () => void }) {
  const { watch_id, paused } = watch;
  const params = { watch_id };
  const [, navigate] = useLocation();
  const capture = useChange(() => call("POST /watches/{watch_id}/capture", { params }), {
    done: "A capture is on its way",
    failed: "No capture was made",
  });
  const pause = useChange(
    () => call("PATCH /watches/{watch_id}", { params, json: { paused: !paused } }),
    { failed: "The watch was not changed" },
  );
  const remove = useChange(() => call("DELETE /watches/{watch_id}", { params }), {
    done: "The watch is deleted",
    failed: "The watch was not deleted",
    onDone: () => navigate("/ui/captures/schedules"),
  });
  return (
    <>
      <Button
        leftSection={<IconCamera size={16} />}
        loading={capture.isPending}
        disabled={watch.capturing !== null}
        onClick={() => capture.mutate(undefined)}
      >
        Capture now
      </Button>
      <Button variant="default" loading={pause.isPending} onClick={() => pause.mutate(undefined)}>
        {paused ? "Continue" : "Pause"}
      </Button>
      <Button variant="default" onClick={onEdit}>
        Edit
      </Button>
      <ConfirmButton
        question="Delete this watch?"
        text="Its captures stay, as any other jobs."
        loading={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      >
        Delete
      </ConfirmButton>
    </>
  );
}

/** One watch: its state, its captures, and its form under `?edit=yes`. */
export function Page({ params: { watch_id = "" } }: { params: Record<string, string> }) {
  const [{ edit }, set] = useFilters({ edit: "" });
  const query = useGet("/watches/{watch_id}", { params: { watch_id } });
  return (
    <Loadable query={query}>
      {(watch) => (
        <>
          <PageHead
            title={watch.name || watch.url}
            crumbs={[{ title: "Schedules", href: "/ui/captures/schedules" }]}
            badges={<Result watch={watch} />}
          >
            {edit === "" && (
              <Actions watch={watch} onEdit={() => set({ edit: "yes" }, { push: true })} />
            )}
          </PageHead>
          {edit === "" ? (
            <Stack>
              <WatchFacts watch={watch} />
              <Captures watch_id={watch_id} />
            </Stack>
          ) : (
            <WatchForm watch={watch} onDone={() => set({ edit: "" }, { push: true })} />
          )}
        </>
      )}
    </Loadable>
  );
}
