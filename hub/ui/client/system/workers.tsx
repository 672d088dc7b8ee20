import { Link } from "wouter";
import { BrowserWorkers } from "../fleet/workers.tsx";
import { useFilters } from "../lib/filters.ts";
import { info } from "../lib/info.ts";
import { workersHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { UpdatesBanner } from "../parts/updates/banner.tsx";
import { Load } from "../pipeline/load.tsx";
import { PipelineWorkers } from "../pipeline/workers.tsx";

type Kind = "browser" | "pipeline" | "load";

function Tab({ kind, shown, count }: { kind: Kind; shown: Kind; count?: number | undefined }) {
  const titles = { browser: "Browsers", pipeline: "Pipelines", load: "CPU and GPU" };
  return (
    <Link
      href={workersHref(kind)}
      className="page-tab"
      data-active={kind === shown || undefined}
      aria-current={kind === shown ? "page" : undefined}
    >
      {titles[kind]}
      {count !== undefined && count > 0 && <span className="page-count">{count}</span>}
    </Link>
  );
}

function Tabs({ shown }: { shown: Kind }) {
  const browsers = useGet("/workers", {}, { enabled: info.fleet });
  const pull = useGet("/api/v1/workers");
  return (
    <nav className="page-tabs" aria-label="Kinds of workers">
      {info.fleet && <Tab kind="browser" shown={shown} count={browsers.data?.workers.length} />}
      <Tab kind="pipeline" shown={shown} count={pull.data?.workers.length} />
      <Tab kind="load" shown={shown} />
    </nav>
  );
}

/** Workers of both kinds, and what their hosts have to do. */
export function Page() {
  const first = info.fleet ? "browser" : "pipeline";
  const [{ kind }] = useFilters({ kind: first });
  const shown: Kind =
    kind === "load" || kind === "pipeline" ? kind : info.fleet ? "browser" : "pipeline";
  return (
    <>
      <PageHead title="Workers" tabs={<Tabs shown={shown} />} />
      {shown !== "load" && <UpdatesBanner />}
      {shown === "browser" && <BrowserWorkers />}
      {shown === "pipeline" && <PipelineWorkers />}
      {shown === "load" && <Load />}
    </>
  );
}
