import { Alert, Button, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { asWritten, call } from "../../lib/http.ts";
import { errorText, useChange, useGet } from "../../lib/query.ts";

/** How long nothing is typed before the server is asked. */
const TYPING_MS = 250;
const SHOWN = 5;

/** An expression in words and its next times, as the server reads them. */
function NextTimes({ schedule, zone }: { schedule: string; zone: string }) {
  const [asked] = useDebouncedValue({ schedule, zone }, TYPING_MS);
  const preview = useGet(
    "/api/v1/schedules/preview",
    { query: { schedule: asked.schedule, schedule_tz: asked.zone || "UTC", n: SHOWN } },
    { enabled: asked.schedule !== "", retry: false },
  );
  if (asked.schedule === "") return null;
  if (preview.error)
    return (
      <Text size="sm" c="var(--mantine-color-error)" role="alert" className="wrap">
        {errorText(preview.error)}
      </Text>
    );
  if (!preview.data) return null;
  return (
    <Stack gap="xs" role="status">
      <Text size="sm">{preview.data.words}</Text>
      <Table aria-label="Next times" withTableBorder maw={560}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{preview.data.schedule_tz}</Table.Th>
            <Table.Th>UTC</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {preview.data.next_times.map(({ at, local, offset }) => (
            <Table.Tr key={at}>
              <Table.Td>
                {local} {offset}
              </Table.Td>
              <Table.Td>{at.slice(0, 19).replace("T", " ")}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

/** When a workload submits tasks to itself. */
export function ScheduleTab({ workload }: { workload: Workload }) {
  const { slug } = workload;
  const [schedule, setSchedule] = useState(workload.schedule ?? "");
  const [zone, setZone] = useState(workload.schedule_tz);
  const save = useChange(
    (to: { schedule: string | null; schedule_tz: string }) =>
      call("PUT /api/v1/workloads/{slug}", {
        params: { slug },
        json: asWritten({ ...workload, ...to }),
        headers: { "if-match": workloadTag(workload) },
      }),
    { done: "The schedule was saved", failed: "The schedule was not saved", quiet: true },
  );
  const written = schedule.trim();
  const changed = written !== (workload.schedule ?? "") || zone !== workload.schedule_tz;
  return (
    <Stack maw={820}>
      {!workload.enabled && workload.schedule !== null && (
        <Alert color="yellow" role="note">
          The workload is off: these times pass, and nothing makes up for them.
        </Alert>
      )}
      <Group align="start">
        <TextInput
          label="Schedule"
          description="Five fields of cron, such as */10 * * * *; empty: none"
          value={schedule}
          spellCheck={false}
          styles={{ input: { fontFamily: "var(--mono)" } }}
          onChange={(event) => setSchedule(event.currentTarget.value)}
        />
        <TextInput
          label="Time zone"
          description="Such as Europe/Berlin"
          value={zone}
          spellCheck={false}
          onChange={(event) => setZone(event.currentTarget.value)}
        />
      </Group>
      {written === "" ? (
        <Text size="sm" c="dimmed">
          It submits nothing by itself.
        </Text>
      ) : (
        <NextTimes schedule={written} zone={zone.trim()} />
      )}
      {save.error && (
        <Alert color="red" title="The schedule was not saved" role="alert">
          <Text size="sm" className="wrap">
            {errorText(save.error)}
          </Text>
        </Alert>
      )}
      <Group>
        <Button
          loading={save.isPending}
          disabled={!changed}
          onClick={() =>
            save.mutate({ schedule: written === "" ? null : written, schedule_tz: zone.trim() })
          }
        >
          Save the schedule
        </Button>
      </Group>
    </Stack>
  );
}
