import { Group, Paper, Progress, Table, Text, Title } from "@mantine/core";
import { counted } from "#shared/kit/words.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import { bytesText, countText, percentText } from "../../lib/units.ts";

const REASONS: Record<string, string> = {
  evicted: "left the browser's buffer before they were read",
  target_gone: "their page or worker was closed first",
  aborted: "the page cancelled them",
  empty_reply: "the browser gave an empty body",
  too_large: "larger than a body may be",
  timeout: "took too long",
  unread: "their page did not read them",
  protected: "protected content",
  upload_failed: "could not be stored",
  spool_full: "the worker's disk was full",
};

/** What happened to the bodies that the browser received. */
export function Capture({ report }: { report: CaptureReport }) {
  const { seen, captured, partial, lost, skipped, ratio, reasons, method } = report;
  const { late = 0, unanswered = 0, warnings = [], blocked } = report;
  const parts = [
    { name: "captured", n: captured, color: "teal" },
    { name: "partial", n: partial, color: "yellow" },
    { name: "lost", n: lost, color: "red" },
  ];
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          Capture
        </Title>
        <Text size="sm">
          {seen === 0 ? (
            "No answer had a body"
          ) : (
            <>
              <b>{percentText(ratio)}</b> of {counted(seen, "body", "bodies")} whole
            </>
          )}
        </Text>
      </Group>
      {seen > 0 && (
        <Progress.Root size="lg" aria-label="Bodies">
          {parts.map(({ name, n, color }) => (
            <Progress.Section
              key={name}
              value={(n / seen) * 100}
              color={color}
              aria-label={`${name}: ${n} of ${seen}`}
            />
          ))}
        </Progress.Root>
      )}
      <Group gap="lg" mt="xs">
        {parts.map(({ name, n }) => (
          <Text key={name} size="sm">
            {countText(n)} {name}
          </Text>
        ))}
        {skipped > 0 && (
          <Text size="sm" title="Smaller than min_asset_size_bytes">
            {countText(skipped)} left out as too small
          </Text>
        )}
        {blocked && (
          <Text size="sm" title="The job's option block says what is not requested">
            {countText(blocked.requests)} not requested
            {blocked.bytes_saved > 0 && `, which saved about ${bytesText(blocked.bytes_saved)}`}
          </Text>
        )}
        {late > 0 && (
          <Text size="sm" title="Requested after the wait was over: not captured">
            {countText(late)} requested too late
          </Text>
        )}
        {unanswered > 0 && (
          <Text size="sm" title="Not sent, or not answered, when the job ended">
            {countText(unanswered)} without an answer
          </Text>
        )}
      </Group>
      {warnings.map((warning) => (
        <Text key={warning} size="sm" mt="xs">
          {warning}
        </Text>
      ))}
      {method === "buffered" && (
        <Text size="sm" c="dimmed" mt="xs">
          This browser has no durable buffers: bodies were read from its short-lived ones.
        </Text>
      )}
      {Object.keys(reasons).length > 0 && (
        <Table mt="sm" aria-label="Why bodies are partial or lost">
          <Table.Tbody>
            {Object.entries(reasons).map(([reason, n]) => (
              <Table.Tr key={reason}>
                <Table.Td w={60}>{countText(n)}</Table.Td>
                <Table.Td>{REASONS[reason] ?? reason}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Paper>
  );
}
