import { Group, Progress, Text, Title } from "@mantine/core";
import type { Notes } from "#shared/protocol/schema/executor.ts";
import { countText, timeText } from "../../lib/units.ts";
import { LogView } from "../../parts/log-view.tsx";

/** What a task reports: its progress and its log. Nothing if it reported nothing. */
export function NotesOf({ notes, live = false }: { notes: Notes; live?: boolean }) {
  const { progress, log, log_dropped } = notes;
  const percent = progress === null ? 0 : Math.round(progress.value * 100);
  return (
    <>
      {progress && (
        <section aria-label="Progress">
          <Group justify="space-between" mb={4}>
            <Text size="sm" className="wrap">
              {progress.text || (live ? "Running" : "How far it got")}
            </Text>
            <Text size="sm" className="nums">
              {percent} %
            </Text>
          </Group>
          <Progress value={percent} aria-label={`${percent} %`} />
        </section>
      )}
      {log.length > 0 && (
        <section aria-label="Log">
          <Title order={3} size="h6" mb={4}>
            Log
            {log_dropped > 0 && (
              <Text component="span" size="xs" c="dimmed">
                {" "}
                the last {log.length} lines of {countText(log.length + log_dropped)}
              </Text>
            )}
          </Title>
          <LogView label="Log" lines={log} lineKey={(_, i) => i} height={200} follow={live}>
            {({ ts, level, text }) => `${timeText(ts)}  ${level.padEnd(5)}  ${text}`}
          </LogView>
        </section>
      )}
    </>
  );
}
