import { ActionIcon, Menu } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import { Fragment, type ReactNode, useState } from "react";
import { Link } from "wouter";
import { ConfirmDialog, type Question } from "./confirm.tsx";

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
  /** Asked before it is done. */
  ask?: Question;
}

interface ItemProps {
  action: MoreAction;
  onAsk: (action: MoreAction) => void;
}

function Item({ action, onAsk }: ItemProps) {
  const { label, icon, onClick, href, download, danger, disabled, ask } = action;
  const look = {
    leftSection: icon,
    color: danger ? "red" : undefined,
    disabled: Boolean(disabled),
    title: disabled || undefined,
  };
  if (download !== undefined)
    return (
      <Menu.Item {...look} component="a" href={href} download={download}>
        {label}
      </Menu.Item>
    );
  if (href !== undefined)
    return (
      <Menu.Item {...look} component={Link} href={href}>
        {label}
      </Menu.Item>
    );
  return (
    <Menu.Item {...look} onClick={() => (ask ? onAsk(action) : onClick?.())}>
      {label}
    </Menu.Item>
  );
}

interface MoreMenuProps {
  actions: MoreAction[];
  /** Of the button: says of what, where there are several on a page. */
  label?: string;
  /** Whether one of them is being done. */
  loading?: boolean;
}

/** What is done seldom, behind three dots. */
export function MoreMenu({ actions, label = "More", loading = false }: MoreMenuProps) {
  const [asked, setAsked] = useState<MoreAction | null>(null);
  // Apart from what is asked, which stays while the dialog goes away.
  const [open, setOpen] = useState(false);
  if (actions.length === 0) return null;
  const ask = (action: MoreAction) => {
    setAsked(action);
    setOpen(true);
  };
  const bad = actions.filter(({ danger }) => danger);
  const plain = actions.filter(({ danger }) => !danger);
  const items = (some: MoreAction[]) =>
    some.map((action) => (
      <Fragment key={action.label}>
        {action.group !== undefined && <Menu.Label>{action.group}</Menu.Label>}
        <Item action={action} onAsk={ask} />
      </Fragment>
    ));
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon size="lg" variant="default" aria-label={label} loading={loading}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown maw="calc(100vw - 16px)">
          {items(plain)}
          {plain.length > 0 && bad.length > 0 && <Menu.Divider />}
          {items(bad)}
        </Menu.Dropdown>
      </Menu>
      {asked?.ask && (
        <ConfirmDialog
          {...asked.ask}
          opened={open}
          onClose={() => setOpen(false)}
          onConfirm={() => asked.onClick?.()}
        />
      )}
    </>
  );
}
