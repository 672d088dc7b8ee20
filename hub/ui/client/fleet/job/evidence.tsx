import { Stack, Table, Text, Title } from "@mantine/core";
import type { Attempt } from "#shared/protocol/schema/attempt.ts";
import { assetPath } from "./asset-list.ts";

/** Where the page was when the script ended, how it looked, and its last requests. */
export function Evidence({ job_id, attempt }: { job_id: string; attempt: Attempt }) {
  const { url, title } = attempt.evidence;
  const network = attempt.evidence.network ?? [];
  return (
    <Stack>
      <div>
        <Text size="sm" fw={600} className="wrap">
          {title || "No title"}
        </Text>
        <Text size="sm" ff="monospace" className="wrap">
          {url ?? "No address"}
        </Text>
      </div>
      {attempt.screenshot ? (
        <img
          className="job-picture"
          src={assetPath(job_id, attempt.screenshot)}
          alt={`The page after attempt ${attempt.n}`}
          loading="lazy"
        />
      ) : (
        <Text size="sm" c="dimmed">
          There is no screenshot of the page.
        </Text>
      )}
      <Title order={2} size="h5">
        Last requests
      </Title>
      {network.length === 0 ? (
        <Text size="sm" c="dimmed">
          None while it ran.
        </Text>
      ) : (
        <Table.ScrollContainer minWidth={360}>
          <Table aria-label="Last requests">
            <Table.Tbody>
              {network.map((entry, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a request may occur twice
                <Table.Tr key={i}>
                  <Table.Td>{entry.method}</Table.Td>
                  <Table.Td>{entry.status ?? "no answer"}</Table.Td>
                  <Table.Td>
                    <Text size="sm" ff="monospace" className="wrap">
                      {entry.url}
                    </Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}
