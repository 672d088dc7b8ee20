import { Link } from "wouter";
import { FleetSettingsForm } from "../fleet/settings.tsx";
import { useFilters } from "../lib/filters.ts";
import { info } from "../lib/info.ts";
import { PageHead } from "../parts/page-head.tsx";
import { PipelineSettings } from "../pipeline/settings.tsx";

const PARTS = [
  { part: "fleet", title: "Browser fleet" },
  { part: "pipeline", title: "Pipeline and server" },
] as const;

/** Every setting of the server, by the half that it is of. */
export function Page() {
  const first = info.fleet ? "fleet" : "pipeline";
  const [filters] = useFilters({ part: first });
  const shown = info.fleet && filters.part !== "pipeline" ? "fleet" : "pipeline";
  return (
    <>
      <PageHead
        title="Settings"
        tabs={
          info.fleet && (
            <nav className="page-tabs" aria-label="Parts of the settings">
              {PARTS.map(({ part, title }) => (
                <Link
                  key={part}
                  href={`/ui/system/settings?part=${part}`}
                  className="page-tab"
                  data-active={part === shown || undefined}
                  aria-current={part === shown ? "page" : undefined}
                >
                  {title}
                </Link>
              ))}
            </nav>
          )
        }
      />
      {shown === "fleet" ? <FleetSettingsForm /> : <PipelineSettings />}
    </>
  );
}
