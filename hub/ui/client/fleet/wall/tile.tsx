import { Badge, Box, Button, Group, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { IconEyeOff, IconPlus } from "@tabler/icons-react";
import { addressParts } from "../../lib/address.ts";
import { Clip, Status } from "../../parts/text.tsx";
import { ReplayBadge } from "../replay/replay.tsx";
import { STATE_TEXTS, type WallLane } from "./lanes.ts";
import { usePreview } from "./previews.ts";

interface TileProps {
  one: WallLane;
  interval_ms: number;
  onOpen: (sid: string) => void;
  /** Opens a session on this worker. */
  onNew: (worker_id: string) => void;
}

/** A lane: what is on its screen, what state it is in and why. */
export function Tile({ one, interval_ms, onOpen, onNew }: TileProps) {
  const { lane, worker, session } = one;
  const sid = lane.session_id;
  const title = session ? session.title || session.url : sid;
  const name = `Lane ${lane.lane_idx} of ${worker.worker_id}`;
  return (
    <Box component="li" className="wall-tile" data-state={lane.state}>
      {sid === null ? (
        <Box className="wall-screen" data-empty>
          <Text size="sm" className="wrap">
            {lane.reason ?? STATE_TEXTS[lane.state]}
          </Text>
          {lane.state === "warm" && worker.status === "active" && (
            <Button
              size="compact-xs"
              variant="default"
              leftSection={<IconPlus size={14} />}
              aria-label={`Open a session on ${worker.worker_id} (lane ${lane.lane_idx} is idle)`}
              onClick={() => onNew(worker.worker_id)}
            >
              Open a session
            </Button>
          )}
        </Box>
      ) : (
        <UnstyledButton className="wall-screen" onClick={() => onOpen(sid)}>
          <VisuallyHidden>{`${name}: view ${title}`}</VisuallyHidden>
          <Preview key={sid} sid={sid} interval_ms={interval_ms} />
        </UnstyledButton>
      )}
      <Box px="xs" py={6}>
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <Text size="sm" fw={600} truncate title={name}>
            Lane {lane.lane_idx}
          </Text>
          <Group gap={4} wrap="nowrap">
            {session?.replay && <ReplayBadge replay={session.replay} />}
            {lane.mode === "headless" && (
              <Badge variant="default" className="status" title="Its browser shows no window">
                headless
              </Badge>
            )}
            <Status value={lane.state} title={lane.reason ?? STATE_TEXTS[lane.state]} />
          </Group>
        </Group>
        <Box c={sid === null ? "dimmed" : undefined}>
          <Clip text={sid === null ? "No session" : title} />
        </Box>
        <Text size="xs" c="dimmed" truncate>
          {lineOf(one)}
        </Text>
      </Box>
    </Box>
  );
}

/** Where its page is, which a title does not say, and what it is there for. */
function lineOf(one: WallLane): string {
  const { session } = one;
  const host = session?.title ? addressParts(session.url).host : "";
  return host === "" ? what(one) : `${host} · ${what(one)}`;
}

function what({ lane, session }: WallLane): string {
  if (lane.job_id !== null) return `Job ${lane.job_id}`;
  if (session) return "Session of a person or a program";
  return lane.session_id === null ? `Sandbox ${lane.sandbox}` : "Opening";
}

function Preview({ sid, interval_ms }: { sid: string; interval_ms: number }) {
  const [box, picture] = usePreview(sid, interval_ms);
  return (
    <div ref={box} className="wall-picture">
      {picture.state === "there" && <img src={picture.url} alt="" decoding="async" />}
      {picture.state === "coming" && <Text size="xs">Waiting for a preview…</Text>}
      {picture.state === "none" && (
        <Group gap={6}>
          <IconEyeOff size={16} aria-hidden />
          <Text size="xs">No preview now</Text>
        </Group>
      )}
    </div>
  );
}
