import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { IconBook, IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { info } from "../lib/info.ts";
import { jobHref, workloadHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { PAGES } from "../pages.tsx";
import { PLACES } from "./places.ts";

const MOST = 6;

/** Ctrl+K: goes to pages, jobs and workloads. */
export function Palette() {
  const [, navigate] = useLocation();
  const [query, setQuery] = useState("");
  const [opened, setOpened] = useState(false);
  const wanted = opened && query.length > 1;
  const seldom = { refetchInterval: false as const };
  const jobs = useGet(
    "/jobs",
    { query: { q: query, limit: MOST } },
    { ...seldom, enabled: wanted && info.fleet },
  );
  const workloads = useGet("/api/v1/workloads", {}, { ...seldom, enabled: opened });
  const actions = useMemo(() => {
    const pages: SpotlightActionData[] = PAGES.flatMap(({ path, title, place, nav }) =>
      nav
        ? [
            {
              id: path,
              label: title,
              description: PLACES.find((one) => one.place === place)?.title,
              keywords: nav.words?.split(" ") ?? [],
              onClick: () => navigate(path),
            },
          ]
        : [],
    );
    const found: SpotlightActionData[] = wanted
      ? (jobs.data?.jobs ?? []).map((job) => ({
          id: job.job_id,
          label: job.url,
          description: `Job ${job.job_id}, ${job.status}`,
          keywords: [query],
          onClick: () => navigate(jobHref(job.job_id)),
        }))
      : [];
    const queues: SpotlightActionData[] = (workloads.data?.workloads ?? []).map(({ slug }) => ({
      id: `workload ${slug}`,
      label: slug,
      description: "Workload",
      onClick: () => navigate(workloadHref(slug)),
    }));
    const guide: SpotlightActionData = {
      id: "guide",
      label: "Guide",
      description: "How to use Flotilla, and its rules",
      keywords: ["help", "documentation", "rules", "api"],
      leftSection: <IconBook size={18} />,
      onClick: () => window.open("/guide", "_blank"),
    };
    return [...pages, guide, ...queues, ...found];
  }, [jobs.data, workloads.data, navigate, query, wanted]);
  return (
    <Spotlight
      actions={actions}
      query={query}
      onQueryChange={setQuery}
      onSpotlightOpen={() => setOpened(true)}
      onSpotlightClose={() => setOpened(false)}
      shortcut={["mod + K", "mod + P"]}
      limit={14}
      nothingFound="Nothing has this name"
      searchProps={{
        leftSection: <IconSearch size={18} />,
        placeholder: "Find or do",
        "aria-label": "Find or do",
      }}
    />
  );
}
