import { Badge, Group } from "@mantine/core";
import type { Asset } from "#shared/protocol/schema/asset.ts";

/** What is unusual about a body. */
export function AssetBadges({ asset }: { asset: Asset }) {
  const notes = [
    asset.partial && { text: "partial", color: "orange", title: "Only some ranges of it" },
    asset.from_cache && { text: "cache", color: "gray", title: "From the browser's cache" },
    asset.from_service_worker && {
      text: "service worker",
      color: "gray",
      title: "Answered by the page's service worker",
    },
    asset.refetched && {
      text: "fetched again",
      color: "blue",
      title: "Fetched by the video downloader",
    },
    asset.status !== null &&
      asset.status >= 400 && { text: String(asset.status), color: "red", title: "HTTP status" },
  ].filter((note) => note !== false);
  if (notes.length === 0) return null;
  return (
    <Group gap={4}>
      {notes.map(({ text, color, title }) => (
        <Badge key={text} size="xs" variant="light" color={color} title={title} className="status">
          {text}
        </Badge>
      ))}
    </Group>
  );
}
