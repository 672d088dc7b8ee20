import { Button } from "@mantine/core";
import { IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { Deploy } from "#shared/protocol/schema/operations.ts";
import { useFilters } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { isAdmin, loginStore } from "../lib/logins.ts";
import { getKey } from "../lib/query-key.ts";
import { durationText } from "../lib/units.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip, Elapsed, Status } from "../parts/text.tsx";
import { DeployPanel } from "./deploys/deploy-panel.tsx";
import { StartDialog } from "./deploys/start-dialog.tsx";

const PATH = "/api/v1/admin/deploy";
const QUERY = { limit: 100 };
const EVERY_MS = { running: 1_000, quiet: 15_000 };

const COLUMNS: Column<Deploy>[] = [
  { key: "id", title: "Deploy", width: "70px", cell: ({ deploy_id }) => deploy_id },
  {
    key: "target",
    title: "Target",
    width: "minmax(100px, 1fr)",
    cell: ({ target }) => <Clip text={target} />,
  },
  {
    key: "args",
    title: "Arguments",
    width: "minmax(120px, 2fr)",
    from: "sm",
    cell: ({ args }) => <Clip text={args.join(" ")} mono />,
  },
  {
    key: "state",
    title: "State",
    width: "120px",
    cell: ({ state }) => <Status value={state} />,
  },
  {
    key: "exit",
    title: "Exit code",
    width: "90px",
    from: "sm",
    align: "end",
    cell: ({ exit_code }) => exit_code ?? "–",
  },
  {
    key: "started",
    title: "Started",
    width: "130px",
    from: "sm",
    cell: ({ started_at }) => <Ago at={started_at} />,
  },
  {
    key: "took",
    title: "Took",
    width: "100px",
    align: "end",
    cell: ({ duration_ms, started_at }) =>
      duration_ms === null ? <Elapsed since={started_at} /> : durationText(duration_ms),
  },
];

export function Page() {
  const admin = useSyncExternalStore(loginStore.subscribe, isAdmin);
  const [filters, set] = useFilters({ deploy: "", start: "" });
  const query = useQuery<{ deploys: Deploy[] }>({
    queryKey: getKey("/api/v1/admin/deploy", { query: QUERY }),
    queryFn: ({ signal }) => call("GET /api/v1/admin/deploy", { query: QUERY, signal }),
    // Nobody is asked for the password before they want to do something.
    enabled: admin,
    refetchInterval: ({ state }) =>
      state.data?.deploys[0]?.state === "running" ? EVERY_MS.running : EVERY_MS.quiet,
  });
  const head = (
    <PageHead title="Deploys" note="Runs of the SVC_DEPLOY_ARGV command, one at a time.">
      {admin && query.data && (
        <Button
          size="xs"
          leftSection={<IconRocket size={14} />}
          onClick={() => set({ start: "1" }, { push: true })}
        >
          Deploy
        </Button>
      )}
    </PageHead>
  );
  if (!admin)
    return (
      <>
        {head}
        <Empty
          title="Only the administrator sees deploys"
          action={<Button onClick={() => void query.refetch()}>Log in as administrator</Button>}
        >
          The password was shown once, when the server first started.
        </Empty>
      </>
    );
  return (
    <>
      {head}
      <Loadable query={query}>
        {({ deploys }) => {
          const shown = deploys.find(({ deploy_id }) => String(deploy_id) === filters.deploy);
          return (
            <Beside
              name="deploys"
              usual={560}
              title={
                shown ? `Deploy ${shown.deploy_id} of ${shown.target}` : `Deploy ${filters.deploy}`
              }
              detail={
                filters.deploy !== "" &&
                (shown ? (
                  <DeployPanel deploy={shown} />
                ) : (
                  <Empty title="This deploy is not among the last 100">
                    The oldest are forgotten after a while.
                  </Empty>
                ))
              }
              onClose={() => set({ deploy: "" })}
            >
              {deploys.length === 0 ? (
                <Empty
                  title="Nothing was deployed yet"
                  command={`curl -u admin -X POST ${location.origin}${PATH} \\
  -H 'content-type: application/json' -d '{"target":"production"}'`}
                >
                  The server runs the SVC_DEPLOY_ARGV command with a target and arguments.
                </Empty>
              ) : (
                <DataTable
                  label="Deploys"
                  columns={COLUMNS}
                  rows={deploys}
                  rowKey={({ deploy_id }) => String(deploy_id)}
                  current={filters.deploy}
                  onOpen={({ deploy_id }) => set({ deploy: String(deploy_id) }, { push: true })}
                />
              )}
              <StartDialog
                opened={filters.start !== ""}
                last={deploys[0]?.target ?? ""}
                onClose={() => set({ start: "" })}
                onStarted={(id) => set({ start: "", deploy: String(id) })}
              />
            </Beside>
          );
        }}
      </Loadable>
    </>
  );
}
