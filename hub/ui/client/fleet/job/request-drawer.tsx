import { Anchor, Drawer, Stack, Table, Text, Title } from "@mantine/core";
import { Link } from "wouter";
import { jobHref } from "../../lib/links.ts";
import { bytesText, durationText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { PHASE_TITLES, type Row } from "./har.ts";

interface DrawerProps {
  job_id: string;
  row: Row;
  onClose: () => void;
}

/** One request: what was sent, what came back, and where its time went. */
export function RequestDrawer({ job_id, row, onClose }: DrawerProps) {
  const { request, response, serverIPAddress, _error: error } = row.entry;
  const asset = response.content._asset;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={`${request.method} ${response.status || "failed"} ${response.statusText}`}
      classNames={{ title: "wrap" }}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text size="sm" ff="monospace" className="wrap" component="div">
          {request.url} <Copy text={request.url} label="Copy the address" />
        </Text>
        {error && (
          <Text size="sm" c="var(--mantine-color-error)" className="wrap">
            {error}
          </Text>
        )}
        <Text size="sm">
          {bytesText(response.content.size)} of {response.content.mimeType},{" "}
          {response.httpVersion || request.httpVersion}
          {serverIPAddress && ` from ${serverIPAddress}`}
        </Text>
        {response.redirectURL && (
          <Text size="sm" className="wrap">
            Redirected to {response.redirectURL}
          </Text>
        )}
        {asset && (
          <Anchor
            component={Link}
            size="sm"
            href={jobHref(job_id, { tab: "assets", asset: asset })}
          >
            Its body: {asset}
          </Anchor>
        )}
        <Timings row={row} />
        <Headers title="Answer" headers={response.headers} />
        <Headers title="Request" headers={request.headers} />
      </Stack>
    </Drawer>
  );
}

function Timings({ row }: { row: Row }) {
  return (
    <div>
      <Title order={3} size="h5" mb="xs">
        Times
      </Title>
      <Table aria-label="Times" className="job-legend">
        <Table.Tbody>
          <Table.Tr>
            <Table.Td>Began after</Table.Td>
            <Table.Td ta="end">{durationText(row.from_ms)}</Table.Td>
          </Table.Tr>
          {row.spans.map(({ name, ms }) => (
            <Table.Tr key={name}>
              <Table.Td>
                <i data-phase={name} aria-hidden /> {PHASE_TITLES[name]}
              </Table.Td>
              <Table.Td ta="end">{durationText(ms)}</Table.Td>
            </Table.Tr>
          ))}
          <Table.Tr>
            <Table.Td>In all</Table.Td>
            <Table.Td ta="end">{durationText(row.entry.time)}</Table.Td>
          </Table.Tr>
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Headers({
  title,
  headers,
}: {
  title: string;
  headers: { name: string; value: string }[];
}) {
  return (
    <div>
      <Title order={3} size="h5" mb="xs">
        {title}
      </Title>
      <dl className="job-facts">
        {headers.map(({ name, value }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a header may come twice
          <div key={i}>
            <dt>{name}</dt>
            <dd>
              <Text size="sm" ff="monospace" className="wrap" span>
                {value}
              </Text>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
