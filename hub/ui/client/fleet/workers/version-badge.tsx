import { Badge, Group, Text } from "@mantine/core";
import type { Worker } from "#shared/schema/worker.ts";
import { isSkewed, nextOfUpdate } from "./version.ts";

export function VersionBadge({ worker, hub_version }: { worker: Worker; hub_version: string }) {
  const skewed = isSkewed(worker, hub_version);
  return (
    <Group gap={6} wrap="nowrap" miw={0}>
      <Text size="xs" ff="monospace" truncate title={worker.version}>
        {worker.version}
      </Text>
      {skewed && (
        <Badge
          className="status"
          variant="light"
          color={worker.update?.state === "failed" ? "red" : "orange"}
          title={nextOfUpdate(worker)}
        >
          {worker.update?.state ?? "differs"}
        </Badge>
      )}
    </Group>
  );
}
