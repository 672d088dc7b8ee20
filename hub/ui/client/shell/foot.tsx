import {
  ActionIcon,
  Button,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { IconLogout, IconMoon, IconSun } from "@tabler/icons-react";
import { useHealth } from "../lib/health.ts";
import { logout } from "../lib/http.ts";
import type { WhoIAm } from "../lib/logins.ts";
import { queryClient } from "../lib/query.ts";
import { useWho } from "../lib/use-who.ts";
import { ConnectionState } from "./connection.tsx";
import { SettingsMenu } from "./settings-menu.tsx";

export const leaveLabel = ({ name, role }: WhoIAm): string =>
  role === "admin" && name === "admin" ? "Leave administrator" : "Log out";

export const leave = () => void logout().then(() => queryClient.invalidateQueries());

function Leave({ who }: { who: WhoIAm }) {
  const label = leaveLabel(who);
  const about =
    who.role === null ? "Logged in with SVC_API_TOKEN" : `${who.name}, role ${who.role}`;
  return (
    <Tooltip label={about}>
      <Button
        size="xs"
        variant="default"
        className="leave"
        leftSection={<IconLogout size={14} aria-hidden />}
        onClick={leave}
      >
        <span className="leave-word">{label}</span>
      </Button>
    </Tooltip>
  );
}

function Lanes() {
  const { data } = useHealth();
  if (data === undefined || !("lanes" in data) || data.lanes.total === 0) return null;
  const { busy, total } = data.lanes;
  return (
    <div className="lanes" title={`${busy} of ${total} lanes are busy`}>
      <span className="lanes-words">
        <b>Lanes</b>
        <span>
          {busy} of {total} busy
        </span>
      </span>
      <span
        className="meter"
        role="meter"
        aria-label="Lanes in use"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={busy}
      >
        <i style={{ width: `${(100 * busy) / total}%` }} />
      </span>
    </div>
  );
}

/** Whether the page is dark, and the button that turns it. */
function ThemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={dark ? "Light colours" : "Dark colours"}
      onClick={() => setColorScheme(dark ? "light" : "dark")}
    >
      {dark ? <IconSun size={16} /> : <IconMoon size={16} />}
    </ActionIcon>
  );
}

/** Foot of the side bar: lanes in use, who is logged in, the connection. */
export function Foot() {
  const who = useWho();
  return (
    <div className="hull">
      {who?.kind === "session" && <Leave who={who} />}
      <Lanes />
      <div className="hull-line">
        <ConnectionState />
        <span className="hull-buttons">
          <ThemeButton />
          <SettingsMenu />
        </span>
      </div>
    </div>
  );
}
