import { humanSize, shareText } from "#shared/kit/words.ts";
import type {
  AssetChange,
  ComparedAsset,
  JobComparison,
  TextCompared,
} from "#shared/protocol/schema/comparison.ts";
import { tell } from "./hub-client.ts";
import type { ListDeps } from "./list-commands.ts";
import { printable } from "./print.ts";

/** Others may be compared before. */
const COMPARISON_MS = 600_000;

const shownValue = (value: string | number | null): string =>
  value === null ? "none" : printable(String(value));

function pageLines({ title, final_url, http_status }: JobComparison["page"]): string[] {
  const named = { title, "final URL": final_url, "HTTP status": http_status };
  return Object.entries(named)
    .filter(([, { changed }]) => changed)
    .map(([name, { before, after }]) => `${name}: ${shownValue(before)} → ${shownValue(after)}`);
}

function textLines(text: TextCompared | null): string[] {
  if (!text) return ["text: not compared, because a job has no page.html"];
  if (!text.changed) return [`text: unchanged${text.text_cut ? " in the part compared" : ""}`];
  const head = `text lines: ${text.lines_gone} gone, ${text.lines_new} new`;
  if (text.too_different) return [`${head}; too different to show`];
  const hunks = text.hunks.flatMap((hunk) => [
    `@@ -${hunk.before_start},${hunk.before_lines} +${hunk.after_start},${hunk.after_lines} @@`,
    ...hunk.lines.map(printable),
  ]);
  const notes = [
    ...(text.hunks_cut ? ["(more lines differ than are shown)"] : []),
    ...(text.text_cut ? ["(only the beginning of the text was compared)"] : []),
  ];
  return [head, ...hunks, ...notes];
}

function pictureLine({ picture, picture_missing }: JobComparison["page"]): string {
  if (!picture) return `picture: not compared, because ${printable(picture_missing ?? "")}`;
  if (picture.ratio === 0) return "picture: unchanged";
  return `picture: ${shareText(picture.ratio)} differs, in ${picture.boxes.length} places`;
}

const assetLine = (sign: string, asset: ComparedAsset): string =>
  `${sign} ${printable(asset.url)} (${printable(asset.mime)}, ${humanSize(asset.size)})`;

function changeLine({ before, after, differs, match }: AssetChange): string {
  const values = {
    body: "body",
    size: `size ${humanSize(before.size)} → ${humanSize(after.size)}`,
    mime: `type ${printable(before.mime)} → ${printable(after.mime)}`,
    status: `status ${shownValue(before.status)} → ${shownValue(after.status)}`,
  };
  const was = match === "fuzzy" ? `; was ${printable(before.url)}` : "";
  return `~ ${printable(after.url)} (${differs.map((what) => values[what]).join(", ")}${was})`;
}

function assetLines({ assets }: JobComparison): string[] {
  const { counts } = assets;
  const head = `assets: ${counts.new} new, ${counts.gone} gone, ${counts.changed} changed, ${counts.unchanged} unchanged`;
  return [
    head,
    ...assets.new.map((asset) => assetLine("+", asset)),
    ...assets.gone.map((asset) => assetLine("-", asset)),
    ...assets.changed.map(changeLine),
    ...(assets.lists_cut ? ["(more assets differ than are shown)"] : []),
    ...(assets.assets_cut ? ["(only the first assets of a job were compared)"] : []),
  ];
}

const comparisonText = (comparison: JobComparison): string =>
  [
    ...pageLines(comparison.page),
    ...textLines(comparison.page.text),
    pictureLine(comparison.page),
    ...assetLines(comparison),
  ].join("\n");

/** `flotilla diff A B` (rules/comparison#on-the-command-line). */
export async function runDiffCommand(
  { client, terminal }: ListDeps,
  id: string,
  other: string,
  json: boolean,
): Promise<number> {
  const asked = client.call("GET /jobs/{id}/diff/{other}", {
    timeout_ms: COMPARISON_MS,
    params: { id, other },
  });
  return tell(terminal, asked, (answer) =>
    json ? JSON.stringify(answer, null, 2) : comparisonText(answer),
  );
}
