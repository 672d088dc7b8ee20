import { Anchor, Box, Button, Group, Modal, Text, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useCallback } from "react";
import { Link } from "wouter";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { useFilters } from "../lib/filters.ts";
import { workersHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { ListCount } from "../parts/saved-lists/list-count.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { workerLook } from "../parts/status/worker.ts";
import { StatusMark } from "../parts/status-mark.tsx";
import { SavedSessions } from "./saved-sessions.tsx";
import { OpenSession } from "./session/open-session.tsx";
import { FilterBar } from "./wall/filter-bar.tsx";
import { filterLanes, lanesOf, type WallLane } from "./wall/lanes.ts";
import { SessionDialog } from "./wall/session-dialog.tsx";
import { Tile } from "./wall/tile.tsx";

/** Used until the settings are loaded. */
const PREVIEW_S = 2;
/** Value of `new` in the address when any worker will do. */
const ANY = "any";
/** What narrows the wall; the rest of its address is what is open. */
const NONE = { worker: "", state: "", q: "" };

export function Page() {
  const workers = useGet("/workers");
  const sessions = useGet("/sessions");
  const settings = useGet("/settings");
  const [filter, setFilter] = useFilters({ ...NONE, session: "", new: "" });
  const small = useMediaQuery("(max-width: 48em)");
  const interval_s = Number(settings.data?.settings.preview_interval_s ?? PREVIEW_S);
  const view = useCallback(
    (session: string) => setFilter({ session }, { push: true }),
    [setFilter],
  );
  const openNew = useCallback((worker: string) => setFilter({ new: worker }), [setFilter]);
  return (
    <>
      <PageHead title="Browsers" note={`Previews are at most ${interval_s} s old.`}>
        <Button leftSection={<IconPlus size={16} />} onClick={() => openNew(ANY)}>
          Open a session
        </Button>
      </PageHead>
      <Loadable query={workers}>
        {(data) => {
          const open = sessions.data?.sessions.filter((one) => one.state === "active") ?? [];
          const lanes = lanesOf(data.workers, open);
          const connected = data.workers.filter((worker) => worker.lanes.length > 0);
          if (lanes.length === 0) return <NoLanes remembered={data.workers.length} />;
          const shown = filterLanes(lanes, filter);
          return (
            <>
              <SavedSessions
                all="Every lane"
                filters={{ worker: filter.worker, state: filter.state, q: filter.q }}
                count={({ status, ...saved }) =>
                  status === "" && <ListCount count={filterLanes(lanes, saved).length} />
                }
              />
              <FilterBar lanes={lanes} workers={connected} filter={filter} onChange={setFilter} />
              {shown.length === 0 && (
                <Empty
                  title="No lane matches"
                  action={
                    <Button variant="default" onClick={() => setFilter(NONE)}>
                      Show every lane
                    </Button>
                  }
                />
              )}
              {connected.map((worker) => (
                <WorkerLanes
                  key={worker.worker_id}
                  worker={worker}
                  lanes={shown.filter((one) => one.worker === worker)}
                  interval_ms={interval_s * 1_000}
                  onOpen={view}
                  onNew={openNew}
                />
              ))}
            </>
          );
        }}
      </Loadable>
      <Modal
        opened={filter.session !== ""}
        onClose={() => setFilter({ session: "" })}
        title="Session"
        size="min(1180px, 96vw)"
        fullScreen={small}
      >
        {filter.session !== "" && (
          <SessionDialog sid={filter.session} onClose={() => setFilter({ session: "" })} />
        )}
      </Modal>
      <OpenSession
        opened={filter.new !== ""}
        worker_id={filter.new === ANY ? "" : filter.new}
        onClose={() => setFilter({ new: "" })}
      />
    </>
  );
}

interface WorkerLanesProps {
  worker: Worker;
  lanes: WallLane[];
  interval_ms: number;
  onOpen: (sid: string) => void;
  onNew: (worker_id: string) => void;
}

function WorkerLanes({ worker, lanes, ...rest }: WorkerLanesProps) {
  if (lanes.length === 0) return null;
  const { worker_id, hostname, status, alive, in_flight } = worker;
  return (
    <Box component="section" mb="lg" aria-label={`Lanes of ${worker_id}`}>
      <Group gap="xs" mb="xs">
        <Title order={2} size="h5" className="wrap">
          <Anchor component={Link} href={workersHref("browser", { worker: worker_id })} inherit>
            {worker_id}
          </Anchor>
        </Title>
        {hostname !== worker_id && (
          <Text size="sm" c="dimmed" className="wrap">
            {hostname}
          </Text>
        )}
        {(status !== "active" || !alive) && (
          <StatusMark look={workerLook({ state: status, alive, in_flight })} />
        )}
      </Group>
      <Box component="ul" className="wall-grid">
        {lanes.map((one) => (
          <Tile key={one.key} one={one} {...rest} />
        ))}
      </Box>
    </Box>
  );
}

function NoLanes({ remembered }: { remembered: number }) {
  return (
    <Empty
      title="No browser worker is connected"
      command={`flotilla worker --hub-url ${location.origin.replace(/^http/, "ws")}`}
      action={
        remembered > 0 && (
          <Anchor component={Link} href="/ui/system/workers">
            {remembered === 1 ? "One worker is" : `${remembered} workers are`} remembered
          </Anchor>
        )
      }
    >
      Start one where Chromium is installed; its lanes appear here by themselves.
    </Empty>
  );
}
