import { ActionIcon, Stack, Tooltip, UnstyledButton } from "@mantine/core";
import { IconLayoutSidebarRightCollapse, IconLayoutSidebarRightExpand } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { Replayed } from "../replay/replay.tsx";
import { ConsolePanel } from "./console-panel.tsx";
import { Downloads } from "./downloads.tsx";
import { Facts } from "./facts.tsx";
import { KeepAlive } from "./keep-alive.tsx";
import { Pictures } from "./pictures.tsx";
import { RequestsPanel } from "./requests-panel.tsx";
import { Watching } from "./watching.tsx";

const PANELS = ["steps", "files", "requests", "console", "watching", "info"] as const;
export type PanelName = (typeof PANELS)[number];
const TITLES: Record<PanelName, string> = {
  steps: "Steps",
  files: "Files",
  requests: "Requests",
  console: "Console",
  watching: "Watching",
  info: "Info",
};
export const panelOf = (name: string): PanelName =>
  PANELS.find((panel) => panel === name) ?? "steps";

interface PanelsProps {
  session: Session;
  panel: PanelName;
  onPanel(panel: PanelName): void;
  folded: boolean;
  onFold(folded: boolean): void;
  /** A dot at the steps. */
  recording: boolean;
  steps: ReactNode;
}

/** What belongs to the session, at the side of the stage. */
export function Panels(props: PanelsProps) {
  const { session, panel, onPanel, folded, onFold, recording, steps } = props;
  if (folded)
    return (
      <aside className="session-panels" data-folded aria-label="Panels">
        <Tooltip label="Open the panels, ]">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label="Open the panels"
            onClick={() => onFold(false)}
          >
            <IconLayoutSidebarRightExpand size={18} stroke={1.75} />
          </ActionIcon>
        </Tooltip>
        {recording && (
          <i className="record-mark" data-on role="img" aria-label="Recording your clicks" />
        )}
      </aside>
    );
  const watching = session.watchers?.length ?? 0;
  return (
    <aside className="session-panels" aria-label="Panels">
      <div className="panel-head">
        <div className="panel-names" role="tablist" aria-label="Panels">
          {PANELS.map((name) => (
            <UnstyledButton
              key={name}
              role="tab"
              className="panel-name"
              id={`panel-${name}`}
              aria-selected={name === panel}
              aria-controls="panel-body"
              onClick={() => onPanel(name)}
            >
              {name === "steps" && recording && <i className="record-mark" data-on aria-hidden />}
              {TITLES[name]}
              {name === "watching" && watching > 0 && (
                <span className="panel-count">{watching}</span>
              )}
            </UnstyledButton>
          ))}
        </div>
        <Tooltip label="Fold the panels, ]">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            className="panel-fold"
            aria-label="Fold the panels"
            onClick={() => onFold(true)}
          >
            <IconLayoutSidebarRightCollapse size={18} stroke={1.75} />
          </ActionIcon>
        </Tooltip>
      </div>
      <div
        className="panel-body"
        id="panel-body"
        role="tabpanel"
        aria-labelledby={`panel-${panel}`}
        data-panel={panel}
      >
        {/* The steps keep what was chosen in them while another panel is open. */}
        <div hidden={panel !== "steps"} className="panel-steps">
          {steps}
        </div>
        {panel === "files" && (
          <Stack gap="lg">
            <Downloads session={session} />
            <Pictures session={session} />
          </Stack>
        )}
        {panel === "requests" && <RequestsPanel session={session} />}
        {panel === "console" && <ConsolePanel session={session} />}
        {panel === "watching" && <Watching watchers={session.watchers} />}
        {panel === "info" && (
          <Stack gap="lg">
            {session.replay && <Replayed replay={session.replay} />}
            <Facts session={session} />
            <KeepAlive session={session} />
          </Stack>
        )}
      </div>
    </aside>
  );
}
