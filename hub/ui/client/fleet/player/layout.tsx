import { Button } from "@mantine/core";
import { IconLayoutSidebarRight } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { useRoom } from "../../lib/width.ts";
import { Panels } from "../../parts/panels.tsx";
import { Side, type SidePanel } from "./panels/side.tsx";

interface LayoutProps {
  story: ReactNode;
  /** How many things were done. */
  count: number;
  picture: ReactNode;
  panels: readonly SidePanel[];
  panel: string;
  onPanel: (name: string) => void;
  /** The film and what moves it. @param more what there is no room for beside the picture */
  strip: (more: ReactNode) => ReactNode;
}

/** Actions, picture and panels side by side above the film; on a phone below each other, the lists as tabs. */
export function PlayerLayout(props: LayoutProps) {
  const { story, count, picture, panels, panel, onPanel, strip } = props;
  const room = useRoom();
  const [drawer, setDrawer] = useState(false);
  if (room === "phone") {
    const acts: SidePanel = { name: "actions", title: "Actions", count, show: story };
    const all = [acts, ...panels];
    return (
      <div className="player" data-phone>
        {picture}
        {strip(null)}
        <Side
          panels={all}
          panel={all.some(({ name }) => name === panel) ? panel : "actions"}
          onPanel={onPanel}
        />
      </div>
    );
  }
  const more = (
    <Button
      size="xs"
      variant="default"
      className="player-more"
      leftSection={<IconLayoutSidebarRight size={14} />}
      onClick={() => setDrawer(true)}
    >
      Panels
    </Button>
  );
  return (
    <div className="player">
      <Panels
        name="player"
        left={story}
        leftTitle="What happened"
        title="Picture"
        right={<Side panels={panels} panel={panel} onPanel={onPanel} />}
        rightTitle="Details"
        rightOpen={drawer}
        onCloseRight={() => setDrawer(false)}
      >
        {picture}
      </Panels>
      {strip(more)}
    </div>
  );
}
