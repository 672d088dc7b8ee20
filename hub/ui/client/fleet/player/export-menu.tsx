import { Button, Menu, Text } from "@mantine/core";
import { IconChevronDown, IconFileExport } from "@tabler/icons-react";
import { useState } from "react";
import type { Recording, RecordingExport, VideoFormat } from "#shared/recording/record.ts";
import { errorText, useChange } from "../../lib/query.ts";
import { filesOf } from "./model/exports.ts";
import { askForVideo, type RecordingOf, useExports, videoAddress } from "./source.ts";

const VIDEOS: readonly { format: VideoFormat; name: string }[] = [
  { format: "mp4", name: "MP4 video" },
  { format: "webm", name: "WebM video" },
];

interface ExportMenuProps {
  of: RecordingOf;
  info: Recording;
  /** Whether the run leaves a Playwright trace. */
  trace: boolean;
}

/** What the recording can be saved as. It stays open while a video is made, and says how far it is. */
export function ExportMenu({ of, info, trace }: ExportMenuProps) {
  const [opened, setOpened] = useState(false);
  const why = whyNoVideo(info);
  const exports = useExports(of, opened && why === null);
  return (
    // The element that would hold the first focus is no item, and a menu has items alone.
    <Menu
      position="top-end"
      opened={opened}
      onChange={setOpened}
      withInitialFocusPlaceholder={false}
    >
      <Menu.Target>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconFileExport size={14} />}
          rightSection={<IconChevronDown size={12} />}
        >
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {VIDEOS.map(({ format, name }) => (
          <Video
            key={format}
            of={of}
            format={format}
            name={name}
            why={why}
            made={exports.data?.items.find((one) => one.format === format)}
          />
        ))}
        {exports.error && (
          <Menu.Item disabled>The videos cannot be listed: {errorText(exports.error)}</Menu.Item>
        )}
        {filesOf({ of, job_id: info.job_id, trace }).map(({ name, note, href, download }) => (
          <Menu.Item key={name} component="a" href={href} download={download}>
            {name}
            <Note>{note}</Note>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function whyNoVideo({ state, chunks }: Recording): string | null {
  if (state === "live") return "When the run has ended";
  return chunks.length === 0 ? "Only what happened was recorded" : null;
}

interface VideoProps {
  of: RecordingOf;
  format: VideoFormat;
  name: string;
  /** Why there can be none. */
  why: string | null;
  made: RecordingExport | undefined;
}

/** One kind of video: it is asked for, its progress is shown, and then it is a link. */
function Video({ of, format, name, why, made }: VideoProps) {
  const ask = useChange(() => askForVideo(of, format), { failed: "The video cannot be made" });
  if (made?.status === "done")
    return (
      <Menu.Item component="a" href={videoAddress(of, format)} download={`${of.id}.${format}`}>
        {name}
        <Note>Made: press to download</Note>
      </Menu.Item>
    );
  const busy = ask.isPending || made?.status === "queued" || made?.status === "running";
  return (
    // Not `disabled`: it could not have the focus, and would tell nobody at the keyboard why.
    <Menu.Item
      closeMenuOnClick={false}
      c={why === null ? undefined : "dimmed"}
      aria-disabled={busy || why !== null || undefined}
      onClick={() => {
        if (!busy && why === null) ask.mutate(undefined);
      }}
    >
      {name}
      <Note>{why ?? noteOf(made)}</Note>
    </Menu.Item>
  );
}

function noteOf(made: RecordingExport | undefined): string {
  if (made === undefined) return "Press to have it made";
  if (made.status === "failed") return `It was not made: ${made.error}`;
  if (made.status === "queued") return "Waits for its turn";
  return `Is being made, ${Math.round(made.progress * 100)} %`;
}

function Note({ children }: { children: React.ReactNode }) {
  return (
    <Text size="xs" c="dimmed" maw={320}>
      {children}
    </Text>
  );
}
