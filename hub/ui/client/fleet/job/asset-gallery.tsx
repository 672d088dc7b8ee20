import { Text, UnstyledButton } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { IconFile, IconMusic, IconPhotoOff, IconVideo } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import { bytesText } from "../../lib/units.ts";
import { AssetBadges } from "./asset-badges.tsx";
import { assetPath } from "./asset-list.ts";

interface GalleryProps {
  job_id: string;
  assets: readonly Asset[];
  onOpen: (asset: Asset) => void;
}

const CARD_PX = { width: 170, height: 190 };
/** Larger images are shown only when they are opened. */
const MAX_THUMBNAIL_BYTES = 15_000_000;
const ICONS = { image: IconPhotoOff, video: IconVideo, audio: IconMusic, other: IconFile };

/** Cards in rows: only the rows in view are drawn, and only their images are loaded. */
export function AssetGallery({ job_id, assets, onOpen }: GalleryProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const { ref: inner, width } = useElementSize();
  const columns = Math.max(1, Math.floor(width / CARD_PX.width));
  const virtualizer = useVirtualizer({
    count: width === 0 ? 0 : Math.ceil(assets.length / columns),
    getScrollElement: () => scroller.current,
    estimateSize: () => CARD_PX.height,
    overscan: 2,
  });
  return (
    <div ref={scroller} className="job-gallery" tabIndex={0} role="region" aria-label="Gallery">
      <div ref={inner} style={{ height: virtualizer.getTotalSize(), position: "relative" }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => (
          <div
            key={index}
            className="cards"
            style={{
              transform: `translateY(${start}px)`,
              height: CARD_PX.height,
              gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
            }}
          >
            {assets.slice(index * columns, (index + 1) * columns).map((asset) => (
              <UnstyledButton key={asset.name} className="card" onClick={() => onOpen(asset)}>
                <Thumbnail job_id={job_id} asset={asset} />
                <Text size="xs" truncate title={asset.name}>
                  {asset.name}
                </Text>
                <Text size="xs" c="dimmed" component="div" className="line">
                  {bytesText(asset.size)}
                  <AssetBadges asset={asset} />
                </Text>
              </UnstyledButton>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function Thumbnail({ job_id, asset }: { job_id: string; asset: Asset }) {
  const [broken, setBroken] = useState(false);
  const Icon = ICONS[asset.kind];
  const picture = asset.kind === "image" && !broken && asset.size <= MAX_THUMBNAIL_BYTES;
  return (
    <div className="thumbnail">
      {picture ? (
        <img
          src={assetPath(job_id, asset.name)}
          alt=""
          loading="lazy"
          decoding="async"
          onError={() => setBroken(true)}
        />
      ) : (
        <>
          <Icon size={36} stroke={1.2} aria-hidden />
          <Text size="xs" truncate maw="100%">
            {asset.mime}
          </Text>
        </>
      )}
    </div>
  );
}
