import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core";
import {
  IconApi,
  IconBook,
  IconDeviceDesktop,
  IconDots,
  IconKeyboard,
  IconMoon,
  IconRowInsertBottom,
  IconSun,
} from "@tabler/icons-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { density, setDensity, subscribeDensity } from "../lib/density.ts";
import { info } from "../lib/info.ts";
import { showKeys } from "./keys.tsx";

const SCHEMES = [
  { value: "light", label: "Light", icon: IconSun },
  { value: "dark", label: "Dark", icon: IconMoon },
  { value: "auto", label: "As the system has it", icon: IconDeviceDesktop },
] as const;

/** How the app looks, and where to read about it. */
function LookItems() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const close = useSyncExternalStore(subscribeDensity, density) === "compact";
  return (
    <>
      <Menu.Label>Colours</Menu.Label>
      {SCHEMES.map(({ value, label, icon: Icon }) => (
        <Menu.Item
          key={value}
          leftSection={<Icon size={16} />}
          aria-current={colorScheme === value || undefined}
          className="menu-choice"
          onClick={() => setColorScheme(value)}
        >
          {label}
        </Menu.Item>
      ))}
      <Menu.Label>Density</Menu.Label>
      {(["comfortable", "compact"] as const).map((value) => (
        <Menu.Item
          key={value}
          leftSection={<IconRowInsertBottom size={16} />}
          aria-current={close === (value === "compact") || undefined}
          className="menu-choice"
          onClick={() => setDensity(value)}
        >
          {value === "compact" ? "Compact" : "Comfortable"}
        </Menu.Item>
      ))}
      <Menu.Divider />
      <Menu.Item leftSection={<IconKeyboard size={16} />} onClick={showKeys}>
        Keys
      </Menu.Item>
      <Menu.Item leftSection={<IconBook size={16} />} component="a" href="/guide" target="_blank">
        Guide
      </Menu.Item>
      <Menu.Item leftSection={<IconApi size={16} />} component="a" href="/docs" target="_blank">
        API
      </Menu.Item>
      <Menu.Label>
        Flotilla {info.version}, {info.mode}
      </Menu.Label>
    </>
  );
}

interface SettingsMenuProps {
  /** What opens it, in place of the three dots. */
  target?: ReactNode;
  /** Items above the others. */
  children?: ReactNode;
}

export function SettingsMenu({ target, children }: SettingsMenuProps) {
  return (
    <Menu position="top-end" width={220} withinPortal>
      <Menu.Target>
        {target ?? (
          <ActionIcon variant="subtle" color="gray" aria-label="Colours, density and help">
            <IconDots size={16} />
          </ActionIcon>
        )}
      </Menu.Target>
      <Menu.Dropdown>
        {children}
        <LookItems />
      </Menu.Dropdown>
    </Menu>
  );
}
