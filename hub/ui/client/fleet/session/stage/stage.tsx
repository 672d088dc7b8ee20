import { IconBroadcast, IconServer, IconUpload } from "@tabler/icons-react";
import { type DragEvent, type RefObject, useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useChange } from "../../../lib/query.ts";
import { useOffline } from "../../../lib/use-offline.ts";
import { viewerAddress } from "../../viewer/addresses.ts";
import { dropFiles } from "./drop-files.ts";
import { PickLayer } from "./pick-layer.tsx";
import { pictureIn, toPicture } from "./picture.ts";
import type { Picker } from "./use-picker.ts";

interface StageProps {
  session: Session;
  /** Whether this page drives. */
  drives: boolean;
  viewer: RefObject<HTMLIFrameElement | null>;
  screen: RefObject<HTMLDivElement | null>;
  picker: Picker;
}

function liveText(offline: boolean, drives: boolean): string {
  if (offline) return "Not live while the server is away";
  return drives ? "Live, you may act" : "Live, view only";
}

const holdsFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes("Files");

/** The screen of the session, as large as there is room; files are dropped on it, and elements are picked on it. */
export function Stage({ session, drives, viewer, screen, picker }: StageProps) {
  const { session_id, worker_id, lane_idx } = session;
  const offline = useOffline() !== null;
  const [over, setOver] = useState(false);
  const upload = useChange(
    ({ files, at }: { files: File[]; at: { x: number; y: number } | null }) =>
      dropFiles(session, files, at),
    {
      done: (_, { files }) =>
        files.length === 1
          ? `The page has ${files[0]?.name}`
          : `The page has ${files.length} files`,
      failed: "The files were not given to the page",
    },
  );
  const drop = (event: DragEvent) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    setOver(false);
    const frame = pictureIn(viewer.current);
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const at = frame && toPicture(frame, event.clientX - left, event.clientY - top);
    const files = [...event.dataTransfer.files];
    if (files.length > 0) upload.mutate({ files, at });
  };
  return (
    <section className="session-stage" aria-label="Screen" data-drives={drives || undefined}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: files can be chosen in the panel as well */}
      <div
        ref={screen}
        className="viewer-screen"
        onDragEnter={(event) => holdsFiles(event) && setOver(true)}
        onDragOver={(event) => holdsFiles(event) && event.preventDefault()}
        onDrop={drop}
      >
        <iframe
          key={String(drives)}
          ref={viewer}
          src={viewerAddress(session_id, !drives)}
          title={`Screen of session ${session_id}`}
          allow="fullscreen; clipboard-read; clipboard-write"
        />
        <PickLayer viewer={viewer} picker={picker} />
        {(over || upload.isPending) && (
          // A frame takes what is dragged over it away from its page.
          <div className="drop-layer" onDragLeave={() => setOver(false)} role="status">
            {upload.isPending ? "Giving the files to the page…" : "Drop them on a field for files"}
          </div>
        )}
      </div>
      <footer className="session-foot">
        <span>
          <IconBroadcast size={14} aria-hidden /> {liveText(offline, drives)}
        </span>
        <span>
          <IconServer size={14} aria-hidden /> {worker_id}, lane {lane_idx}
        </span>
        <span className="session-foot-end">
          <IconUpload size={14} aria-hidden /> Drop files on the page to upload them
        </span>
      </footer>
    </section>
  );
}
