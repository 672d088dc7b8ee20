import { Menu } from "@mantine/core";
import { IconLogout, IconMenu2 } from "@tabler/icons-react";
import { Link, useLocation } from "wouter";
import { useWho } from "../lib/use-who.ts";
import { leave, leaveLabel } from "./foot.tsx";
import { MAIN_PLACES, pagesOf, useHere } from "./navigation.tsx";
import { SettingsMenu } from "./settings-menu.tsx";
import { useTrouble } from "./trouble.ts";

/** The places at the foot of a phone's window; System is in the menu. */
export function BottomBar() {
  const { place } = useHere();
  const [, navigate] = useLocation();
  const trouble = useTrouble();
  const who = useWho();
  const menu = (
    <button
      type="button"
      className="bottom-place"
      aria-label="Menu"
      data-active={place === "system" || undefined}
    >
      <IconMenu2 size={20} stroke={1.5} aria-hidden />
      Menu
      {trouble.system && <span className="place-dot" title={trouble.system} />}
    </button>
  );
  return (
    <nav className="bottom-bar" aria-label="Places">
      {MAIN_PLACES.map((one) => (
        <Link
          key={one.place}
          href={one.path}
          className="bottom-place"
          data-active={one.place === place || undefined}
          aria-current={one.place === place ? "true" : undefined}
        >
          <one.icon size={20} stroke={1.5} aria-hidden />
          {one.title}
          {trouble[one.place] && (
            <span
              className="place-dot"
              role="img"
              aria-label={trouble[one.place]}
              title={trouble[one.place]}
            />
          )}
        </Link>
      ))}
      <SettingsMenu target={menu}>
        <Menu.Label>System</Menu.Label>
        {pagesOf("system").map(({ path, nav }) => (
          <Menu.Item key={path} onClick={() => navigate(path)}>
            {nav.label}
          </Menu.Item>
        ))}
        {who?.kind === "session" && (
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={leave}>
            {leaveLabel(who)}
          </Menu.Item>
        )}
        <Menu.Divider />
      </SettingsMenu>
    </nav>
  );
}
