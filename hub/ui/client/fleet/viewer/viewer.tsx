import { ActionIcon, Box, Center, Group, SegmentedControl, Text, Tooltip } from "@mantine/core";
import { IconCode, IconLink, IconMaximize } from "@tabler/icons-react";
import { type ReactNode, useRef, useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { tellError } from "../../lib/query.ts";
import { Copy } from "../../parts/copy.tsx";
import { ErrorNote, Loading } from "../../parts/states.tsx";
import { cdpAddress, viewerAddress } from "./addresses.ts";
import { ShareViewer } from "./share.tsx";
import { hasEnded, useSession } from "./use-session.ts";

interface ViewerProps {
  sid: string;
  /** Of the screen in the page: a CSS height, or by default as high as the lane's screen scaled to the width. */
  height?: number | string;
  /** Begins with keyboard and mouse, not only watching. */
  takeOver?: boolean;
  /** What replaces the screen once the session has ended. */
  ended?: ReactNode;
  /** Further buttons, at the end of the line above the screen. */
  children?: ReactNode | ((session: Session) => ReactNode);
}

const fillScreen = (box: HTMLElement): Promise<void> =>
  box.requestFullscreen().catch((err) => tellError("The browser does not allow full screen", err));

/**
 * The live screen of a session, by itself or inside any page: watch, take over, full screen, addresses. Says so when the
 * session has ended.
 */
export function Viewer({ sid, height, takeOver = false, ended, children }: ViewerProps) {
  const query = useSession(sid);
  const [mode, setMode] = useState(takeOver ? "act" : "watch");
  const screen = useRef<HTMLDivElement>(null);
  if (hasEnded(query)) return ended ?? <Ended />;
  if (!query.data)
    return query.error ? (
      <ErrorNote error={query.error} title="The session cannot be shown" />
    ) : (
      <Loading lines={3} />
    );
  const address = viewerAddress(sid, mode === "watch");
  return (
    <Box>
      <Group gap="xs" mb="xs">
        <SegmentedControl
          size="xs"
          aria-label="Keyboard and mouse"
          value={mode}
          onChange={setMode}
          data={[
            { value: "watch", label: "View only" },
            { value: "act", label: "Take over" },
          ]}
        />
        {/* Telephones give it to films alone. */}
        {document.fullscreenEnabled && (
          <Tooltip label="Full screen">
            <ActionIcon
              variant="default"
              aria-label="Full screen"
              onClick={() => screen.current && void fillScreen(screen.current)}
            >
              <IconMaximize size={16} />
            </ActionIcon>
          </Tooltip>
        )}
        <Copy
          variant="default"
          text={new URL(address, location.origin).href}
          label="Copy the viewer's address"
          icon={IconLink}
        />
        <Copy
          variant="default"
          text={cdpAddress(sid)}
          label="Copy the CDP address"
          icon={IconCode}
        />
        <ShareViewer sid={sid} />
        {typeof children === "function" ? children(query.data) : children}
      </Group>
      <Box ref={screen} className="viewer-screen" style={{ height }}>
        <iframe
          key={mode}
          src={address}
          title={`Screen of session ${sid}`}
          allow="fullscreen; clipboard-read; clipboard-write"
        />
      </Box>
    </Box>
  );
}

function Ended() {
  return (
    <Center className="viewer-ended">
      <Text size="sm" c="dimmed">
        The session has ended
      </Text>
    </Center>
  );
}
