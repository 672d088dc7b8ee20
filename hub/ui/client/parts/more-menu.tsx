import { ActionIcon, Menu } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Link } from "wouter";

export interface MoreAction {
  label: string;
  icon?: ReactNode;
  onClick?: () => void;
  /** In place of `onClick`. */
  href?: string;
  /** `href` is a file, kept under this name. */
  download?: string;
  /** A heading above it, and above what follows it. */
  group?: string;
  /** Red, below a line. */
  danger?: boolean;
  /** Why it cannot be done now. */
  disabled?: string | false;
}

/** What is done seldom, behind three dots. */
export function MoreMenu({ actions, label = "More" }: { actions: MoreAction[]; label?: string }) {
  if (actions.length === 0) return null;
  const item = (action: MoreAction) => {
    const { label: name, icon, onClick, href, download, danger, disabled } = action;
    const look = {
      leftSection: icon,
      color: danger ? "red" : undefined,
      disabled: Boolean(disabled),
      title: disabled || undefined,
    };
    if (download !== undefined)
      return (
        <Menu.Item key={name} {...look} component="a" href={href} download={download}>
          {name}
        </Menu.Item>
      );
    return href === undefined ? (
      <Menu.Item key={name} {...look} onClick={onClick}>
        {name}
      </Menu.Item>
    ) : (
      <Menu.Item key={name} {...look} component={Link} href={href}>
        {name}
      </Menu.Item>
    );
  };
  const bad = actions.filter(({ danger }) => danger);
  const plain = actions.filter(({ danger }) => !danger);
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon size="lg" variant="default" aria-label={label}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown maw="calc(100vw - 16px)">
        {plain.map((action) =>
          action.group === undefined
            ? item(action)
            : [<Menu.Label key={action.group}>{action.group}</Menu.Label>, item(action)],
        )}
        {plain.length > 0 && bad.length > 0 && <Menu.Divider />}
        {bad.map(item)}
      </Menu.Dropdown>
    </Menu>
  );
}
