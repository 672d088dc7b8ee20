import { Alert, Box, Group, Stack, Text } from "@mantine/core";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { useGet } from "../../lib/query.ts";
import { Ago } from "../text.tsx";
import { UpdateButtons } from "./buttons.tsx";

const LOOKS: Record<FleetUpdates["state"], { title: string; color: string }> = {
  up_to_date: { title: "Every worker has its version", color: "gray" },
  canary: { title: "A canary takes the new version", color: "blue" },
  rolling: { title: "Workers take the new version one after the other", color: "blue" },
  waiting_for_hubs: { title: "Workers wait until all hubs have the same version", color: "orange" },
  waiting_for_approval: { title: "Updates wait for your approval", color: "orange" },
  paused: { title: "Updates are paused", color: "orange" },
  stopped: { title: "An update failed, and the others keep their version", color: "red" },
};

const pinText = ({ pin, worker_pins }: FleetUpdates): string =>
  [
    ...(pin === null ? [] : [`The fleet is pinned to ${pin}.`]),
    ...Object.entries(worker_pins).map(([id, version]) => `${id} is pinned to ${version}.`),
  ].join(" ");

/**
 * How the workers' updates go, and what the administrator may do about it. `alarms`: only what needs somebody, for pages about
 * something else.
 */
export function UpdatesBanner({ alarms = false }: { alarms?: boolean }) {
  const { data } = useGet("/api/v1/updates");
  if (!data) return null;
  const { state, detail, failure } = data;
  if (alarms && state !== "stopped" && state !== "waiting_for_approval") return null;
  const pins = pinText(data);
  if (state === "up_to_date" && pins === "")
    return (
      <Group component="section" aria-label="Updates" gap="xs" mb="md" justify="space-between">
        <Text size="sm" c="dimmed">
          Workers take the hub's version by themselves, one after the other.
        </Text>
        <UpdateButtons updates={data} />
      </Group>
    );
  const { title, color } = LOOKS[state];
  return (
    <Box component="section" aria-label="Updates" mb="md">
      <Alert color={color} title={title} role="status">
        <Stack gap="xs">
          <Text size="sm" className="wrap">
            {detail}
          </Text>
          {pins !== "" && (
            <Text size="sm" className="wrap">
              {pins}
            </Text>
          )}
          {failure && (
            <Text size="xs">
              It happened <Ago at={failure.at} />.
            </Text>
          )}
          <Box>
            <UpdateButtons updates={data} />
          </Box>
        </Stack>
      </Alert>
    </Box>
  );
}
