import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { IconClipboard, IconHandFinger, IconMaximize } from "@tabler/icons-react";
import type { RefObject } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { copyText } from "../../lib/clipboard.ts";
import { tellDone, tellError } from "../../lib/query.ts";
import { MoreMenu } from "../../parts/more-menu.tsx";
import { cdpAddress, viewerAddress } from "../viewer/addresses.ts";
import { ShareViewer } from "../viewer/share.tsx";
import { AddressBar } from "./address-bar.tsx";
import { EndSession } from "./end-session.tsx";
import { SaveProfile } from "./save-profile.tsx";
import { driverOf } from "./watching.tsx";

interface SessionBarProps {
  session: Session;
  drives: boolean;
  onDrive(drives: boolean): void;
  viewer: RefObject<HTMLIFrameElement | null>;
  screen: RefObject<HTMLDivElement | null>;
  onRecording(): void;
  onEnded(): void;
}

const fillScreen = (box: HTMLElement): Promise<void> =>
  box.requestFullscreen().catch((err) => tellError("The browser does not allow full screen", err));

/** The viewer's own box for texts, both ways. */
const openClipboard = (viewer: HTMLIFrameElement | null): void =>
  viewer?.contentDocument?.querySelector<HTMLButtonElement>("#paste")?.click();

const copied = async (text: string, done: string) =>
  (await copyText(text)) ? tellDone(done) : tellError("It was not copied", new Error(text));

/** The one line above the stage: where the page is, who drives, and what else can be done. */
export function SessionBar(props: SessionBarProps) {
  const { session, drives, onDrive, viewer, screen, onRecording, onEnded } = props;
  const { session_id: sid } = session;
  const driver = drives ? "You" : driverOf(session);
  return (
    <header className="session-bar">
      <AddressBar session={session} />
      <div className="session-do">
        {driver !== null && (
          <span className="session-driver" role="status">
            <IconHandFinger size={16} aria-hidden />{" "}
            {driver === "You" ? "You drive" : `${driver} drives`}
          </span>
        )}
        <Button size="xs" variant={drives ? "default" : "filled"} onClick={() => onDrive(!drives)}>
          {drives ? "Hand back" : "Take over"}
        </Button>
        <Tooltip label={drives ? "Clipboard" : "Clipboard: take over first"}>
          <ActionIcon
            size="lg"
            variant="subtle"
            color="gray"
            aria-label="Clipboard of the session"
            data-disabled={!drives || undefined}
            aria-disabled={!drives || undefined}
            onClick={() => drives && openClipboard(viewer.current)}
          >
            <IconClipboard size={18} stroke={1.75} />
          </ActionIcon>
        </Tooltip>
        {/* Telephones give it to films alone. */}
        {document.fullscreenEnabled && (
          <Tooltip label="Full screen">
            <ActionIcon
              size="lg"
              variant="subtle"
              color="gray"
              aria-label="Full screen"
              onClick={() => screen.current && void fillScreen(screen.current)}
            >
              <IconMaximize size={18} stroke={1.75} />
            </ActionIcon>
          </Tooltip>
        )}
        <ShareViewer sid={sid} />
        <SaveProfile session={session} />
        <EndSession size="xs" session={session} onEnded={onEnded} />
        <MoreMenu
          actions={[
            { label: "Show the recording", onClick: onRecording },
            {
              label: "Copy the CDP address",
              onClick: () => void copied(cdpAddress(sid), "The CDP address is copied"),
            },
            {
              label: "Copy the viewer's address",
              onClick: () =>
                void copied(
                  new URL(viewerAddress(sid, !drives), location.origin).href,
                  "The viewer's address is copied",
                ),
            },
          ]}
        />
      </div>
    </header>
  );
}
