import { Anchor, Stack, Text, Title } from "@mantine/core";
import { Link } from "wouter";
import type {
  AssetChange,
  ComparedAsset,
  JobComparison,
  TextCompared,
} from "#shared/protocol/schema/comparison.ts";
import { jobHref } from "../lib/links.ts";
import { useGet } from "../lib/query.ts";
import { bytesText, countText, timeText } from "../lib/units.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Fact, FactList } from "../parts/facts.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Loadable } from "../parts/states.tsx";
import { Clip, Status } from "../parts/text.tsx";
import { Pictures } from "./difference/pictures.tsx";

const KINDS: Record<string, { kind: string; mark: string }> = {
  "+": { kind: "added", mark: "+" },
  "-": { kind: "removed", mark: "−" },
};

function Lines({ text }: { text: TextCompared }) {
  const lines = text.hunks.flatMap(({ before_start, after_start, lines: of }) => [
    ` @@ line ${before_start} → ${after_start} @@`,
    ...of,
  ]);
  return (
    <div className="job-diff" role="region" aria-label="Changes of the text" tabIndex={0}>
      {lines.map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
        <div key={i} data-kind={KINDS[line[0] ?? ""]?.kind ?? "same"}>
          <span className="mark">{KINDS[line[0] ?? ""]?.mark ?? " "}</span>
          {line.slice(1)}
        </div>
      ))}
    </div>
  );
}

function textNote(text: TextCompared | null): string {
  if (text === null) return "Not compared, because a job has no saved page.";
  const rest = text.text_cut ? " Only the beginning of the text was compared." : "";
  if (!text.changed) return `The text is the same.${rest}`;
  const counts = `Lines: ${countText(text.lines_gone)} gone, ${countText(text.lines_new)} new.`;
  if (text.too_different) return `${counts} Too much differs to be shown.${rest}`;
  return `${counts}${text.hunks_cut ? " More lines differ than are shown." : ""}${rest}`;
}

interface AssetRow {
  key: string;
  what: string;
  asset: ComparedAsset;
  differs: string;
}

const differsText = ({ differs, before, after }: AssetChange): string =>
  differs
    .map((what) =>
      what === "size" ? `size ${bytesText(before.size)} → ${bytesText(after.size)}` : what,
    )
    .join(", ");

const rowsOf = ({ assets }: JobComparison): AssetRow[] => {
  const one = (what: string) => (asset: ComparedAsset) => ({
    key: `${what} ${asset.name}`,
    what,
    asset,
    differs: "",
  });
  return [
    ...assets.new.map(one("new")),
    ...assets.gone.map(one("gone")),
    ...assets.changed.map((change) => ({
      ...one("changed")(change.after),
      differs: differsText(change),
    })),
  ];
};

const COLUMNS: Column<AssetRow>[] = [
  { key: "what", title: "Asset is", width: "100px", cell: ({ what }) => <Status value={what} /> },
  {
    key: "url",
    title: "Address",
    width: "minmax(140px, 3fr)",
    cell: ({ asset }) => <Clip text={asset.url} />,
  },
  {
    key: "differs",
    title: "Differs in",
    width: "minmax(90px, 1fr)",
    from: "sm",
    cell: ({ differs }) => <Clip text={differs} />,
  },
  {
    key: "size",
    title: "Size",
    width: "84px",
    align: "end",
    cell: ({ asset }) => bytesText(asset.size),
  },
];

function Assets({ comparison }: { comparison: JobComparison }) {
  const { counts, lists_cut, assets_cut } = comparison.assets;
  const rows = rowsOf(comparison);
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Assets
      </Title>
      <Text size="sm">
        {countText(counts.new)} new, {countText(counts.gone)} gone, {countText(counts.changed)}{" "}
        changed, {countText(counts.unchanged)} unchanged.
        {lists_cut && " More differ than are shown."}
        {assets_cut && " Only the first assets of a job were compared."}
      </Text>
      {rows.length > 0 && (
        <DataTable label="Assets" columns={COLUMNS} rows={rows} rowKey={({ key }) => key} />
      )}
    </Stack>
  );
}

const shown = (value: string | number | null): string => (value === null ? "none" : String(value));

function PageFacts({ comparison: { before, after, page } }: { comparison: JobComparison }) {
  const jobs = { Before: before, After: after };
  const pairs = {
    Title: page.title,
    "Final address": page.final_url,
    "HTTP status": page.http_status,
  };
  return (
    <FactList label="Compared">
      {Object.entries(jobs).map(([name, { job_id, finished_at }]) => (
        <Fact key={name} name={name}>
          <Anchor component={Link} href={jobHref(job_id)} size="sm" underline="always">
            {job_id}
          </Anchor>
          {finished_at && `, ${timeText(finished_at)}`}
        </Fact>
      ))}
      {Object.entries(pairs).map(([name, pair]) => (
        <Fact key={name} name={name}>
          {pair.changed ? `${shown(pair.before)} → ${shown(pair.after)}` : "unchanged"}
        </Fact>
      ))}
    </FactList>
  );
}

/** What changed from one job to another (rules/comparison#compare-two-jobs). */
export function Page({ params }: { params: Record<string, string> }) {
  const { job_id: id = "", other = "" } = params;
  const query = useGet(
    "/jobs/{id}/diff/{other}",
    { params: { id, other } },
    // Neither job changes any more.
    { refetchInterval: false, staleTime: Number.POSITIVE_INFINITY },
  );
  return (
    <>
      <PageHead title="Difference" crumbs={[{ title: "Captures", href: "/ui/captures" }]} />
      <Loadable query={query}>
        {(comparison) => (
          <Stack>
            <PageFacts comparison={comparison} />
            <Stack gap="xs">
              <Title order={2} size="h4">
                Text
              </Title>
              <Text size="sm">{textNote(comparison.page.text)}</Text>
              {comparison.page.text && comparison.page.text.hunks.length > 0 && (
                <Lines text={comparison.page.text} />
              )}
            </Stack>
            <Pictures page={comparison.page} />
            <Assets comparison={comparison} />
          </Stack>
        )}
      </Loadable>
    </>
  );
}
