import { Alert, Code, Group, SegmentedControl, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Asset, LinkList } from "#shared/protocol/schema/asset.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useFilters } from "../../lib/filters.ts";
import { call, getText, open } from "../../lib/http.ts";
import { styleNonce } from "../../lib/info.ts";
import { useGet } from "../../lib/query.ts";
import { getKey } from "../../lib/query-key.ts";
import { bytesText, countText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Clip } from "../../parts/text.tsx";
import { previewOf } from "./page-preview.ts";

const MOST_BYTES = 5_000_000;
const ONCE = { refetchInterval: false, staleTime: Number.POSITIVE_INFINITY } as const;

/** The page as it was at the end, and its links. */
export function SavedPage({ job }: { job: Job }) {
  const [filters, setFilters] = useFilters({ page: "preview" });
  const of = { params: { id: job.job_id } };
  const query = useQuery({
    queryKey: [...getKey("/jobs/{id}/page.html", of), job.status],
    queryFn: async ({ signal }) => {
      const html = await getText("GET /jobs/{id}/page.html", { ...of, signal }, MOST_BYTES);
      return { html, preview: await preview(job, html, signal) };
    },
    ...ONCE,
  });
  if (query.error instanceof FlotillaError && query.error.status === 404)
    return (
      <Empty title="No page is saved">
        {job.finished_at === null
          ? "It is saved at the end of the job."
          : "The job ended before its page could be saved: the log says why."}
      </Empty>
    );
  return (
    <>
      <Group mb="sm">
        <SegmentedControl
          aria-label="Shown as"
          value={filters.page}
          onChange={(page) => setFilters({ page })}
          data={[
            { value: "preview", label: "Preview" },
            { value: "source", label: "Source" },
            { value: "links", label: "Links" },
          ]}
        />
      </Group>
      {filters.page === "links" ? (
        <Links job_id={job.job_id} />
      ) : (
        <Loadable query={query}>
          {(page) =>
            filters.page === "source" ? (
              <Source html={page.html} />
            ) : (
              <>
                <Alert color="gray" mb="sm" p="xs">
                  As it was captured: nothing in it runs, and nothing is requested from its site.
                  Only captured images and styles are shown.
                </Alert>
                <iframe
                  className="job-page"
                  title="The captured page"
                  sandbox=""
                  referrerPolicy="no-referrer"
                  srcDoc={page.preview}
                />
              </>
            )
          }
        </Loadable>
      )}
    </>
  );
}

async function preview(job: Job, html: string, signal: AbortSignal): Promise<string> {
  const of = { params: { id: job.job_id }, signal };
  const { items: assets } = await call("GET /jobs/{id}/assets.json", of);
  const at = ({ name }: Asset) => ({ params: { id: job.job_id, name }, signal });
  return previewOf({
    html,
    url: job.final_url ?? job.url,
    assets,
    nonce: styleNonce(),
    readText: (asset) => getText("GET /jobs/{id}/assets/{name}", at(asset), MOST_BYTES),
    readData: async (asset) =>
      dataUrl(await (await open("GET /jobs/{id}/assets/{name}", at(asset))).blob()),
  });
}

const dataUrl = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });

function Source({ html }: { html: string }) {
  return (
    <>
      {html.length >= MOST_BYTES && (
        <Text size="sm" c="dimmed" mb="xs">
          The first {bytesText(MOST_BYTES)}: download page.html for all of it.
        </Text>
      )}
      <Code block className="job-text" tabIndex={0}>
        {html}
      </Code>
    </>
  );
}

const COLUMNS: Column<LinkList["links"][number] & { key: string }>[] = [
  { key: "text", title: "Text", width: "minmax(120px, 1fr)", cell: (l) => <Clip text={l.text} /> },
  {
    key: "url",
    title: "Leads to",
    width: "minmax(180px, 2fr)",
    cell: (l) => <Clip text={l.url} mono />,
  },
  { key: "rel", title: "Rel", width: "120px", from: "md", cell: (l) => <Clip text={l.rel} /> },
  {
    key: "copy",
    title: "",
    width: "60px",
    cell: (l) => <Copy text={l.url} label={`Copy the address of ${l.text || l.url}`} />,
  },
];

function Links({ job_id }: { job_id: string }) {
  const [filters, setFilters] = useFilters({ q: "" });
  const query = useGet("/jobs/{id}/links.json", { params: { id: job_id } }, ONCE);
  const wanted = filters.q.toLowerCase();
  if (query.error instanceof FlotillaError && query.error.status === 404)
    return <Empty title="No links are saved" />;
  return (
    <Loadable query={query}>
      {({ links }) => {
        const shown = links
          .map((link, i) => ({ ...link, key: String(i) }))
          .filter(({ url, text }) => `${url} ${text}`.toLowerCase().includes(wanted));
        return (
          <>
            <Title order={2} size="h4" mb="sm">
              Links
            </Title>
            <Group mb="sm">
              <TextInput
                data-filter
                aria-label="Text or address"
                placeholder="Text or address…"
                value={filters.q}
                onChange={(event) => setFilters({ q: event.currentTarget.value })}
              />
              <Text size="sm" c="dimmed">
                {countText(shown.length)} of {countText(links.length)} links
              </Text>
            </Group>
            <DataTable
              label="Links of the page"
              columns={COLUMNS}
              rows={shown}
              rowKey={({ key }) => key}
              height="60dvh"
            />
          </>
        );
      }}
    </Loadable>
  );
}
