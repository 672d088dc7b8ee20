import { Drawer, Group, type MantineSize } from "@mantine/core";
import type { ReactNode } from "react";

interface SidePanelProps {
  title: string;
  /** After the title. */
  badge?: ReactNode;
  opened: boolean;
  onClose: () => void;
  size?: MantineSize | number;
  children: ReactNode;
}

/** One thing of a list beside it. A click beside it or Escape in a question on top of it does not lose what was typed. */
export function SidePanel(props: SidePanelProps) {
  const { title, badge, opened, onClose, size = 640, children } = props;
  return (
    <Drawer
      opened={opened}
      onClose={() => {
        if (document.querySelectorAll("[role=dialog]").length < 2) onClose();
      }}
      closeOnClickOutside={false}
      position="right"
      size={size}
      title={
        <Group component="span" gap="xs">
          <span className="wrap">{title}</span>
          {badge}
        </Group>
      }
      className="side-panel"
    >
      {children}
    </Drawer>
  );
}
