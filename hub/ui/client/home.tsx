import { ActionIcon, Button, SegmentedControl } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { type ReactNode, useDeferredValue, useEffect, useState } from "react";
import { Link } from "wouter";
import type { FigureRange, Figures } from "#shared/protocol/schema/figures.ts";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import { CapturesChart } from "./home/captures-chart.tsx";
import { HostsCard, QueueCard, StorageCard } from "./home/cards.tsx";
import { type Step, showsPath, useFirstRun } from "./home/first-run.ts";
import { LatestCaptures } from "./home/latest.tsx";
import { newCaptureHref } from "./home/links.ts";
import { PipelineHalf } from "./home/pipeline-half.tsx";
import { ProblemList } from "./home/problem-list.tsx";
import { problemsOf } from "./home/problems.ts";
import { DEFAULT_RANGE, RANGES, rangeOf } from "./home/ranges.ts";
import { RunningNow } from "./home/running-now.tsx";
import { useFilters } from "./lib/filters.ts";
import { info } from "./lib/info.ts";
import { lateFile } from "./lib/late-file.ts";
import { useGet } from "./lib/query.ts";
import { useRoom } from "./lib/width.ts";
import { LatePart } from "./parts/late-part.tsx";
import { PageHead } from "./parts/page-head.tsx";
import { Loadable } from "./parts/states.tsx";
import { UpdatesBanner } from "./parts/updates/banner.tsx";
import { statesOf } from "./pipeline/overview/problems.ts";
import { useUnserved } from "./pipeline/workload/use-seen.ts";

/** The running bar grows, and a problem may come by itself. */
const EVERY_MS = 15_000;

/** Whoever has used it once does not load it again. */
const FIRST_RUN = lateFile(async () => (await import("./home/path.tsx")).FirstRunPath);

/** Which steps of the first run are done, by what the server has; null until that is known. */
function doneOf(
  figures: Figures | undefined,
  overview: DashboardOverview | undefined,
): Partial<Record<Step, boolean>> | null {
  if (overview === undefined || (info.fleet && figures === undefined)) return null;
  const tasks = overview.queue_depths.length > 0;
  if (figures === undefined) return { tasks };
  const { captured, session, engine } = figures.begun;
  return { capture: captured, session, tasks, engine };
}

interface RangeProps {
  range: FigureRange;
  onRange: (range: string) => void;
}

const Ranges = ({ range, onRange }: RangeProps) => (
  <SegmentedControl
    size="xs"
    aria-label="Range of time"
    data={RANGES}
    value={range}
    onChange={onRange}
  />
);

function NewCapture({ phone }: { phone: boolean }) {
  if (phone)
    return (
      <ActionIcon component={Link} href={newCaptureHref} size="lg" aria-label="New capture">
        <IconPlus size={18} />
      </ActionIcon>
    );
  return (
    <Button component={Link} href={newCaptureHref} leftSection={<IconPlus size={16} />}>
      New capture
    </Button>
  );
}

function Head({ phone, ...ranges }: RangeProps & { phone: boolean }) {
  return (
    <PageHead title="Home" primary={info.fleet && <NewCapture phone={phone} />}>
      {info.fleet && !phone && <Ranges {...ranges} />}
    </PageHead>
  );
}

interface BothProps {
  figures: Figures;
  overview: DashboardOverview | undefined;
  /** Above the chart where the head has no room for them. */
  ranges: ReactNode;
}

/** Of a server with a browser fleet: both halves. */
function Both({ figures, overview, ranges }: BothProps) {
  // How the last runs went comes after what the page begins with.
  const settled = useDeferredValue(true, false);
  const summary = useGet("/api/v1/dashboard/workloads-runs-summary", {}, { enabled: settled });
  const unserved = useUnserved();
  const states = overview ? statesOf(overview, summary.data, undefined, unserved) : [];
  return (
    <div className="home">
      <ProblemList problems={problemsOf(figures.problems, overview, states)} />
      <div className="home-two">
        {ranges && <div className="home-ranges">{ranges}</div>}
        <CapturesChart figures={figures} />
        <RunningNow figures={figures} />
      </div>
      <LatestCaptures />
      <div className="home-three">
        <HostsCard figures={figures} />
        {overview && <QueueCard overview={overview} />}
        <StorageCard figures={figures} />
      </div>
    </div>
  );
}

/** What runs, what failed and why; on an empty install the path of the first steps (rules/web-app#home). */
export function Page() {
  const [filters, setFilters] = useFilters({ range: DEFAULT_RANGE as string });
  const range = rangeOf(filters.range);
  const figures = useGet(
    "/figures",
    { query: { range } },
    { enabled: info.fleet, refetchInterval: EVERY_MS },
  );
  const overview = useGet("/api/v1/dashboard/overview", {}, { refetchInterval: EVERY_MS });
  const phone = useRoom() === "phone";
  const ranges = { range, onRange: (next: string) => setFilters({ range: next }) };
  const [run, change] = useFirstRun();
  const done = doneOf(figures.data, overview.data);
  // What came of the last step stays to be read until the reader goes on.
  const [begun, setBegun] = useState(false);
  const shows = done !== null && run.path !== "hidden" && (begun || showsPath(run, done));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is first shown
  useEffect(() => {
    if (!shows) return;
    setBegun(true);
    if (run.path === "unseen") change({ path: "on" });
  }, [shows]);
  if (shows && done !== null)
    return (
      <LatePart file={FIRST_RUN} coming={null}>
        {(FirstRunPath) => (
          <FirstRunPath
            run={run}
            change={change}
            done={done}
            lanes={figures.data?.lanes}
            onEnd={() => change({ path: "hidden" })}
          />
        )}
      </LatePart>
    );
  return (
    <>
      <Head {...ranges} phone={phone} />
      <UpdatesBanner alarms />
      {info.fleet ? (
        <Loadable query={figures} lines={12}>
          {(data) => (
            <Both
              figures={data}
              overview={overview.data}
              ranges={phone && <Ranges {...ranges} />}
            />
          )}
        </Loadable>
      ) : (
        <Loadable query={overview} lines={12}>
          {(data) => <PipelineHalf overview={data} />}
        </Loadable>
      )}
    </>
  );
}
