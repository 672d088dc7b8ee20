import { Tabs } from "@mantine/core";
import { type ComponentType, lazy, Suspense } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { countText } from "../lib/units.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable, Loading } from "../parts/states.tsx";
import { JobHead } from "./job/head.tsx";
import { Log } from "./job/log.tsx";
import { JobNotice } from "./job/notice.tsx";
import { Overview } from "./job/overview.tsx";
import { useJobEvents } from "./job/use-events.ts";

const tab = (load: () => Promise<ComponentType<{ job: Job }>>) =>
  lazy(async () => ({ default: await load() }));
const Assets = tab(async () => (await import("./job/assets.tsx")).Assets);
const Requests = tab(async () => (await import("./job/requests.tsx")).Requests);
const SavedPage = tab(async () => (await import("./job/saved-page.tsx")).SavedPage);
const Attempts = tab(async () => (await import("./job/attempts.tsx")).Attempts);
// What plays a recording is as large as all other pages together.
const JobRecording = lazy(async () => ({
  default: (await import("./job/recording.tsx")).JobRecording,
}));

/** A job with everything about it; the tab is in the address. */
export function Page({ params }: { params: Record<string, string> }) {
  const job_id = params.job_id ?? "";
  const query = useGet("/jobs/{id}", { params: { id: job_id } });
  // The previous job stays in `data` while another one loads.
  const data = query.data?.job_id === job_id ? query.data : undefined;
  if (query.error instanceof FlotillaError && query.error.status === 404)
    return <NoJob id={job_id} />;
  if (!data) {
    return (
      <>
        <PageHead title={`Job ${job_id}`} crumbs={[{ title: "Captures", href: "/ui/captures" }]} />
        <Loadable query={{ ...query, data: undefined } as typeof query}>{() => null}</Loadable>
      </>
    );
  }
  return <Loadable query={query}>{() => <JobView key={job_id} job={data} />}</Loadable>;
}

function NoJob({ id }: { id: string }) {
  return (
    <>
      <PageHead title={`Job ${id}`} crumbs={[{ title: "Captures", href: "/ui/captures" }]} />
      <Empty title="There is no such job" command={`curl ${location.origin}/jobs?limit=5`}>
        It may have been deleted, by hand or because it was older than the fleet keeps jobs, or the
        address is mistyped.
      </Empty>
    </>
  );
}

function JobView({ job }: { job: Job }) {
  const live = job.status === "running" && job.session_id !== null;
  const [filters, setFilters] = useFilters({ tab: "overview", t: "", at: "" });
  const feed = useJobEvents(job.job_id);
  const scripted = job.mode !== "fetch";
  const tabs = [
    { name: "overview", title: "Overview", show: <Overview job={job} feed={feed} /> },
    {
      name: "recording",
      title: live ? "Live" : "Recording",
      show: <JobRecording job={job} feed={feed} />,
    },
    { name: "log", title: "Log", show: <Log job={job} feed={feed} /> },
    ...(scripted ? [{ name: "attempts", title: "Attempts", show: <Attempts job={job} /> }] : []),
    { name: "assets", title: `Assets (${countText(job.asset_count)})`, show: <Assets job={job} /> },
    { name: "har", title: "Requests", show: <Requests job={job} /> },
    { name: "page", title: "Page", show: <SavedPage job={job} /> },
  ];
  // A link to a moment is one to the recording.
  const wanted = filters.t + filters.at === "" ? filters.tab : "recording";
  const now = tabs.find(({ name }) => name === wanted) ?? tabs[0];
  return (
    <>
      <JobHead job={job} />
      <JobNotice job={job} />
      <Tabs
        value={now?.name ?? null}
        onChange={(next) => setFilters({ tab: next ?? "overview", t: "", at: "" }, { push: true })}
        keepMounted={false}
      >
        <Tabs.List className="job-tabs" mb="md">
          {tabs.map(({ name, title }) => (
            <Tabs.Tab key={name} value={name}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={now?.name ?? "overview"}>
          <Suspense fallback={<Loading />}>{now?.show}</Suspense>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
