import { Badge, Group, Text } from "@mantine/core";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { UPDATE_LABELS, updateColor } from "../../parts/updates/update-words.ts";
import { isSkewed, nextOfUpdate } from "./version.ts";

export function VersionBadge({ worker, hub_version }: { worker: Worker; hub_version: string }) {
  const { update } = worker;
  return (
    <Group gap={6} wrap="nowrap" miw={0}>
      <Text size="xs" ff="monospace" truncate title={worker.version}>
        {worker.version}
      </Text>
      {(update || isSkewed(worker, hub_version)) && (
        <Badge
          className="status"
          variant="light"
          color={updateColor(update)}
          title={nextOfUpdate(worker)}
        >
          {update ? UPDATE_LABELS[update.state] : "differs"}
        </Badge>
      )}
    </Group>
  );
}
