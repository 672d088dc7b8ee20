import { Button, Code, Drawer, Group, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import { getText } from "../../lib/http.ts";
import { bytesText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { Loadable } from "../../parts/states.tsx";
import { AssetBadges } from "./asset-badges.tsx";
import { assetPath, isText } from "./asset-list.ts";

interface DrawerProps {
  job_id: string;
  asset: Asset;
  onClose: () => void;
}

/** One body: shown or played where the browser can, with its details. */
export function AssetDrawer({ job_id, asset, onClose }: DrawerProps) {
  const path = assetPath(job_id, asset.name);
  const { ranges } = asset;
  const facts = [
    { name: "Address", value: asset.source_url },
    { name: "Of the page", value: asset.page_url },
    ...(asset.frame_url === null || asset.frame_url === asset.page_url
      ? []
      : [{ name: "Of the frame", value: asset.frame_url }]),
    { name: "Type", value: asset.mime },
    { name: "Size", value: bytesText(asset.size) },
    { name: "HTTP status", value: asset.status === null ? "a download" : String(asset.status) },
    { name: "SHA-256", value: asset.sha256 },
    ...(ranges.length === 0
      ? []
      : [{ name: "Ranges, in bytes", value: ranges.map((r) => `${r.start}–${r.end}`).join(", ") }]),
  ];
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={asset.name}
      classNames={{ title: "wrap" }}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Group gap="xs">
          <Button
            component="a"
            href={path}
            download={asset.name}
            variant="default"
            size="xs"
            leftSection={<IconDownload size={14} />}
          >
            Download
          </Button>
          <AssetBadges asset={asset} />
        </Group>
        <Preview key={asset.name} job_id={job_id} asset={asset} />
        <dl className="job-facts">
          {facts.map(({ name, value }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Text size="sm" ff="monospace" className="wrap" span lineClamp={6}>
                  {value}
                </Text>{" "}
                <Copy text={value} label={`Copy: ${name}`} />
              </dd>
            </div>
          ))}
        </dl>
      </Stack>
    </Drawer>
  );
}

function Preview({ job_id, asset }: { job_id: string; asset: Asset }) {
  const path = assetPath(job_id, asset.name);
  const [broken, setBroken] = useState(false);
  const onError = () => setBroken(true);
  if (asset.size === 0) return <Text c="dimmed">This file is empty.</Text>;
  if (!broken && asset.kind === "image")
    return <img className="job-picture" src={path} alt={asset.name} onError={onError} />;
  if (!broken && asset.kind === "video")
    return (
      // biome-ignore lint/a11y/useMediaCaption: it is shown as it was captured
      <video className="job-picture" src={path} controls preload="metadata" onError={onError} />
    );
  if (!broken && asset.kind === "audio")
    // biome-ignore lint/a11y/useMediaCaption: it is played as it was captured
    return <audio className="job-sound" src={path} controls preload="metadata" onError={onError} />;
  if (isText(asset.mime)) return <TextPreview job_id={job_id} asset={asset} />;
  return (
    <Text size="sm" c="dimmed">
      {broken ? "This browser cannot show it" : "There is no view of this type"}: download it
      instead.
    </Text>
  );
}

const MOST_BYTES = 100_000;

function TextPreview({ job_id, asset }: { job_id: string; asset: Asset }) {
  const { name, size } = asset;
  const query = useQuery({
    queryKey: ["asset-text", job_id, name],
    queryFn: ({ signal }) => {
      const of = { params: { id: job_id, name }, signal };
      return getText("GET /jobs/{id}/assets/{name}", of, MOST_BYTES);
    },
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  });
  return (
    <Loadable query={query}>
      {(text) => (
        <div>
          {size > MOST_BYTES && (
            <Text size="xs" c="dimmed" mb={4}>
              The first {bytesText(MOST_BYTES)} of {bytesText(size)}
            </Text>
          )}
          <Code block className="job-text" tabIndex={0}>
            {text}
          </Code>
        </div>
      )}
    </Loadable>
  );
}
